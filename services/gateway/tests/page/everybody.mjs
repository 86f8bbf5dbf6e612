// Languages, the keyboard, screens and screen readers, and what the page loads.
import assert from 'node:assert/strict';
import { loadavg } from 'node:os';
import { describe, test } from 'node:test';
import { ENDED, LEAVE, ask, newContext, open, picture, tabTo, url, violations } from './browser.mjs';

describe('languages', () => {
  test('a question is answered in its own', () => open(async (page) => {
    for (const [question, answer] of [
      [LEAVE, /25 days of paid leave/],
      ['직원은 며칠의 유급 휴가를 받습니까?', /25일의 유급 휴가/],
      ['休暇は誰が承認しますか?', /チームリーダー/],
      ['假期由谁批准?', /团队负责人批准/],
    ]) {
      await ask(page, question);
      assert.equal(await page.textContent('.walk h2'), question);
      assert.match(await page.textContent('.status'), /^Answered/, question);
      assert.match(await page.textContent('.final'), answer);
      await page.locator('.cite').first().click();
      assert.match(await page.textContent('#passage mark'), answer);
      await page.keyboard.press('Escape');
    }
    await picture(page, 'chinese-dark');
  }, { colorScheme: 'dark' }));

  test('Enter that ends a composed word does not ask', () => open(async (page) => {
    await page.fill('#question', '휴가는 누가 승인합니까?');
    await page.locator('#question').dispatchEvent('keydown', { key: 'Enter', isComposing: true });
    assert.equal(await page.locator('.walk').count(), 0);
    await page.press('#question', 'Enter');
    await page.waitForSelector(ENDED);
    assert.match(await page.textContent('.final'), /팀장/);
  }));
});

/** Most bytes that travel until the page is complete. */
const PAGE_BYTES = 70_000;

describe('everybody', () => {
  test('the keyboard alone asks, opens a citation and closes it', () => open(async (page) => {
    await page.keyboard.type(LEAVE);
    await page.keyboard.press('Enter');
    await page.waitForSelector(ENDED);
    await tabTo(page, '.cite');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#passage[open]');
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.classList.contains('cite')), true, 'focus comes back');
  }));

  test('the keyboard alone compares, replays, and opens the history and the documents', () => open(async (page) => {
    const press = async (selector) => {
      await tabTo(page, selector);
      await page.keyboard.press('Enter');
    };
    await page.keyboard.type(LEAVE);
    await tabTo(page, '#compare');
    await page.keyboard.type('plain');
    await press('#submit');
    await page.waitForFunction((ended) => document.querySelectorAll(ended).length === 2, ENDED);
    assert.equal(await page.locator('.walk').nth(1).getAttribute('aria-label'), 'Walk of plain-rag');

    await tabTo(page, '.tools input');
    await page.keyboard.press('Home');
    await page.waitForFunction(() => document.querySelectorAll('.walk:first-child .steps li').length === 0);
    await press('.tools button');
    await page.waitForSelector('#replay[open]');
    await tabTo(page, '#replay input[name=relevant]');
    await page.keyboard.type('1');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.remark:not([hidden])');
    assert.equal(await page.locator('#replay[open]').count(), 0);

    await press('#open-history');
    await press('#history .list button');
    await page.waitForFunction(() => document.querySelectorAll('.walk').length === 1);
    assert.equal(await page.locator('#history[open]').count(), 0);

    await press('#open-documents');
    await page.waitForSelector('#documents .list li');
    await tabTo(page, '#new-collection');
    await page.keyboard.type('by-keyboard');
    await page.keyboard.press('Enter');
    assert.equal(await page.textContent('#documents h2'), 'Documents of by-keyboard');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Close', 'the focus stays in the dialog');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('#documents[open]').count(), 0);
    assert.equal(await page.inputValue('#collection'), 'by-keyboard');
  }));

  test('colours are chosen and remembered', () => open(async (page) => {
    const shown = () => page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
    const [before, light] = await shown();
    assert.equal(before, 'system');
    for (const [theme, same] of [['light', true], ['dark', false], ['system', true], ['light', true], ['dark', false]]) {
      await page.click('#theme');
      const [is, ground] = await shown();
      assert.equal(is, theme);
      assert.equal(ground === light, same, `${theme}: ${ground}`);
      assert.match(await page.getAttribute('#theme', 'aria-label'), theme === 'system' ? /as the system/ : new RegExp(theme));
    }
    await page.reload();
    await page.waitForSelector('#graph option', { state: 'attached' });
    assert.equal((await shown())[0], 'dark');
    assert.notEqual((await shown())[1], light);
  }));

  for (const colorScheme of ['light', 'dark']) {
    test(`axe finds nothing wrong, ${colorScheme}`, () => open(async (page) => {
      assert.deepEqual(await violations(page), []);
      await page.click('summary');
      await ask(page, LEAVE);
      assert.deepEqual(await violations(page), []);
      await page.locator('.cite').first().click();
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press('Escape');
      for (const button of ['#open-documents', '#open-history', '#open-key']) {
        await page.click(button);
        assert.deepEqual(await violations(page), []);
        await page.keyboard.press('Escape');
      }
    }, { colorScheme }));
  }

  test('a phone scrolls down, never sideways', () => open(async (page) => {
    await ask(page, LEAVE);
    const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    assert.ok(content <= screen, `${content} px on ${screen}`);
    await picture(page, 'phone');
  }, { viewport: { width: 390, height: 800 } }));

  test('the page loads nothing from elsewhere, and little', async () => {
    const context = await newContext();
    const page = await context.newPage();
    const loaded = [];
    page.on('response', (response) => loaded.push(response));
    await page.goto(url);
    await page.waitForSelector('#graph option', { state: 'attached' });
    assert.deepEqual(loaded.map((response) => new URL(response.url()).origin).filter((origin) => origin !== new URL(url).origin), []);
    const bytes = await page.evaluate(() => ['navigation', 'resource']
      .flatMap((kind) => performance.getEntriesByType(kind))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0));
    assert.ok(bytes < PAGE_BYTES, `${bytes} bytes`);
    console.log(`${bytes} bytes`);
    await context.close();
  });

  test('the page is painted from its first response alone', async () => {
    const context = await newContext();
    const page = await context.newPage();
    // Nothing else is ever answered.
    await page.route((asked) => asked.pathname !== '/', () => {});
    await page.goto(url, { waitUntil: 'commit' });
    await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
    assert.equal(await page.locator('#ask').evaluate((form) => getComputedStyle(form).display), 'grid', 'with its style');
    assert.equal(await page.locator('link[rel=stylesheet], script:not([type=module])').count(), 0);
    await context.close();
  });

  /** When something was first painted, in milliseconds; the elements are there before that. */
  const firstPaint = () => new Promise((resolve) => {
    new PerformanceObserver((list) => list.getEntriesByName('first-contentful-paint').forEach(({ startTime }) => resolve(startTime)))
      .observe({ type: 'paint', buffered: true });
  });

  test('how long the first paint takes is told', async () => {
    const times = [];
    for (let windows = 0; windows < 5; windows += 1) {
      const context = await newContext();
      const page = await context.newPage();
      await page.goto(url);
      await page.waitForSelector('#graph option', { state: 'attached' });
      const waits = await page.evaluate(() => performance.getEntriesByType('resource').filter(({ renderBlockingStatus }) => renderBlockingStatus === 'blocking').map(({ name }) => name));
      assert.deepEqual(waits, []);
      times.push(await page.evaluate(firstPaint));
      await context.close();
    }
    times.sort((a, b) => a - b);
    const [least, , median] = times.map(Math.round);
    console.log(`first paint: least ${least} ms, median of 5 ${median} ms, load of the machine ${loadavg()[0].toFixed(2)}`);
  });
});
