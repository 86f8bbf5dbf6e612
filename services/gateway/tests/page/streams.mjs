// The page while an answer is under way: events come one by one.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ENDED, open, picture, tabTo, url, violations } from './browser.mjs';
import { holdWalks } from './held-walks.mjs';
import { ANSWER, EVENTS, KEPT, QUESTION, WITHDRAWN, until } from './made-walk.mjs';

const node = (page, name) => page.locator('.node', { hasText: name }).first();

/** Opens the page over held walks, asks, and hands over the page and the walk. */
const asked = (use, options) => () => holdWalks(url, (at, next) => open(async (page) => {
  await page.fill('#question', QUESTION);
  await page.keyboard.press('Enter');
  await use(page, await next());
}, options, { at }));

describe('while a walk is under way', () => {
  for (const colorScheme of ['light', 'dark']) {
    test(`its steps, edges and sentences are shown as they come, ${colorScheme}`, asked(async (page, walk) => {
      walk.send(EVENTS[0]);
      await page.waitForSelector('.node.current');
      assert.match(await page.textContent('.node.current'), /^retrieve, step 1: under way/);
      assert.equal(await page.textContent('.status'), 'retrieve …');
      assert.equal(await page.locator('.steps .outcome').count(), 0);

      walk.send(...EVENTS.slice(1, until(({ stepStarted }) => stepStarted?.step === 2)));
      await page.waitForSelector('.steps li.current:nth-child(2)');
      assert.match(await page.textContent('.node.current'), /^grade documents/);
      assert.equal(await page.locator('.steps li').first().locator('.outcome').textContent(), 'passages');
      assert.equal(await node(page, 'retrieve').locator('.detail').textContent(), 'passages · 12 ms');
      assert.equal(await page.locator('.edge.taken').count(), 2);
      assert.equal(await page.locator('.passages li').count(), 1);

      let sent = until(({ stepStarted }) => stepStarted?.step === 2);
      const next = (is) => {
        walk.send(...EVENTS.slice(sent, until(is)));
        sent = until(is);
      };
      next(({ textDelta }) => textDelta);
      await page.waitForFunction((text) => document.querySelector('.draft')?.textContent === text, `${KEPT} `);
      next(({ sentenceRetracted }) => sentenceRetracted);
      await page.waitForSelector('.draft del');
      assert.equal(await page.textContent('.draft .committed'), KEPT);
      assert.equal(await page.textContent('.draft del'), WITHDRAWN);
      assert.equal(await page.locator('.final').count(), 0, 'the answer has not ended');
      assert.equal(await page.isVisible('#cancel'), true);
      assert.deepEqual(await violations(page), []);
      await picture(page, `under-way-${colorScheme}`);

      next(({ finished }) => finished);
      walk.end();
      await page.waitForSelector(ENDED);
      assert.match(await page.textContent('.final'), new RegExp(ANSWER));
      assert.equal(await page.locator('.node.current, .spinner').count(), 0);
    }, { colorScheme }));
  }

  test('Stop, by the keyboard alone, leaves the connection', asked(async (page, walk) => {
    walk.send(EVENTS[0]);
    await page.waitForSelector('.node.current');
    await tabTo(page, '#cancel');
    await page.keyboard.press('Enter');
    assert.equal(await walk.left(), true);
    await page.waitForSelector('.walk .problem:not([hidden])');
    assert.equal(await page.textContent('.walk .problem'), 'Stopped.');
    assert.equal(await page.locator('.spinner').count(), 0, 'nothing goes on');
    assert.equal(await page.textContent('.status'), 'At retrieve');
  }));

  test('a phone shows the step that is under way', asked(async (page, walk) => {
    for (const step of [1, 3, 5]) {
      const before = step === 1 ? 0 : until(({ stepStarted }) => stepStarted?.step === step - 2);
      walk.send(...EVENTS.slice(before, until(({ stepStarted }) => stepStarted?.step === step)));
      await page.waitForSelector(`.steps li.current:nth-child(${step})`);
      const [left, right, width] = await page.evaluate(() => {
        const drawing = document.querySelector('.drawing').getBoundingClientRect();
        const box = document.querySelector('.node.current rect').getBoundingClientRect();
        return [box.left - drawing.left, box.right - drawing.left, drawing.width];
      });
      assert.ok(left >= 0 && right <= width, `step ${step}: ${left} to ${right} of ${width}`);
    }
    const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    assert.ok(content <= screen, `${content} px on ${screen}`);
  }, { viewport: { width: 390, height: 800 } }));
});
