// Questions, and what can be done with their walks.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ENDED, LEAVE, ask, folder, open, picture, url, violations } from './browser.mjs';

describe('a question', () => {
  test('is answered while its walk is drawn, and its citation opens the passage at its characters', () => open(async (page) => {
    await ask(page, LEAVE);
    assert.match(await page.textContent('.status'), /^(Answered|Unverified)/);
    assert.match(await page.textContent('.final'), /25 days of paid leave/);
    const steps = await page.locator('.steps li').count();
    assert.ok(steps >= 3, `${steps} steps`);
    assert.ok(await page.locator('.node.visited').count() >= 4);
    assert.ok(await page.locator('.edge.taken').count() >= 4);
    assert.ok(await page.locator('.passages .badge').count() > 0);
    await picture(page, 'answer-light');
    await page.locator('.cite').first().click();
    const quoted = await page.textContent('#passage mark');
    assert.match(quoted, /25 days of paid leave/);
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('#passage[open]').count(), 0);
  }));

  test('opens what it cites in the document itself, and says when that was changed', () => open(async (page) => {
    const notes = Array.from({ length: 120 }, (_, day) => `# Day ${day}\n\n${'Nothing of note was written down here. '.repeat(60)}\n\n`).join('');
    const text = (days) => `${notes}# Turtles\n\n`
      + `🦀 A turtle named Otto guards the lamp room for ${days} days a week.\n`;
    const put = async (days) => {
      const form = { multipart: { collection: 'turtles', file: { name: 'turtles.md', mimeType: 'text/markdown', buffer: Buffer.from(text(days)) } } };
      assert.ok((await page.request.post(`${url}v1/documents`, form)).ok());
    };
    await put('five');
    await page.reload();
    await page.selectOption('#collection', 'turtles');
    await ask(page, 'Who guards the lamp room?');
    const show = async () => {
      await page.locator('.cite').first().click();
      await page.getByRole('button', { name: 'Show in the document' }).click();
      await page.locator('#passage .document .text').waitFor();
      return page.locator('#passage .document');
    };
    const says = (wanted) => page.locator('#passage .document [role=status]').filter({ hasText: wanted }).waitFor();
    const shown = await show();
    assert.equal(await shown.locator('mark').textContent(), await page.textContent('#passage > .text mark'));
    assert.match(await shown.locator('mark').textContent(), /Otto guards/);
    assert.match(await shown.textContent(), /Nothing of note/);
    assert.doesNotMatch(await shown.textContent(), /Day 7\b/);
    await says(/^What comes before these sections is left out/);
    assert.deepEqual(await violations(page), []);
    await picture(page, 'document');
    await page.keyboard.press('Escape');

    await put('six');
    await show();
    await says(/^The document was changed/);
    await page.keyboard.press('Escape');
    assert.ok((await page.request.delete(`${url}v1/collections/turtles`)).ok());
    await page.locator('.cite').first().click();
    await page.getByRole('button', { name: 'Show in the document' }).click();
    await says(/turtles/);
  }, {}, { provokes: true }));

  test('about a PDF says the page of what it cites', () => open(async (page) => {
    await ask(page, 'When does the ferry to the island sail?');
    assert.match(await page.textContent('.final'), /sails at seven/);
    assert.match(await page.textContent('.sources'), /, page 2/);
    assert.match(await page.getAttribute('.cite', 'aria-label'), /, page 2$/);
    await page.locator('.cite').first().click();
    assert.equal(await page.textContent('#passage .within'), 'page 2');
    assert.deepEqual(await violations(page), []);
    const places = await page.evaluate(async () => {
      const { addressOf, pageOf, placeOf } = await import('/js/place.js');
      const text = '# Page 1\n\n🦀 휴가\n\n# Page 2\n\nTrains.\n\n# Page 12 of 20';
      const piece = (start, end) => ({ inText: { start, end } });
      return [
        [0, 9, 14, 15, 25, 50].map((start) => pageOf({ text }, { start })),
        pageOf({ text: `x\n${text}` }, { start: 0 }),
        pageOf({ text: 'words', headings: ['Page 3', 'Leave', 'Page 4a'] }),
        pageOf({ text, pieces: [piece(0, 14), piece(16, 60)] }, { start: 25 }),
        pageOf({ text, pieces: [piece(0, 14), piece(30, 60)] }, { start: 31 }),
        pageOf({ text, pieces: [piece(0, 14), piece(30, 60)], headings: ['Page 5'] }, { start: 31 }),
        placeOf({ text: 'words', headings: ['Page 3', 'Leave'] }),
        placeOf({}),
        addressOf('https://example.com/a/B.PDF?x=1', 3),
        addressOf('https://example.com/b.pdf#page=9', 3),
        addressOf('https://example.com/b.html', 3),
        addressOf('https://example.com/b.pdf', null),
      ];
    });
    assert.deepEqual(places, [
      [1, 1, 1, 1, 2, 2], null, 3, 2, null, 5, 'page 3 › Leave', '',
      'https://example.com/a/B.PDF?x=1#page=3', 'https://example.com/b.pdf#page=9', 'https://example.com/b.html',
      'https://example.com/b.pdf',
    ]);
  }));

  test('can be replayed to an earlier event, saved, forgotten and loaded again', () => open(async (page) => {
    await ask(page, LEAVE);
    const slider = page.locator('.tools input[type=range]');
    await slider.fill('2');
    await page.waitForFunction(() => document.querySelectorAll('.steps li').length === 1);
    await slider.fill(await slider.getAttribute('max'));
    await page.waitForFunction(() => document.querySelectorAll('.steps li').length > 2);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save' }).click();
    const file = join(folder(), 'walk.json');
    await (await download).saveAs(file);

    await page.reload();
    await page.click('#open-history');
    await page.locator('#history .list button').first().click();
    assert.match(await page.textContent('.final'), /25 days/);
    await page.click('#open-history');
    await page.getByRole('button', { name: 'Forget all' }).click();
    await page.reload();
    await page.click('#open-history');
    assert.equal(await page.locator('#history .list button').count(), 0);
    await page.setInputFiles('#history input[type=file]', file);
    await page.waitForSelector('.final');
    assert.match(await page.textContent('.final'), /25 days/);

    const other = join(folder(), 'other.json');
    await writeFile(other, '{"format": 1}');
    await page.click('#open-history');
    await page.setInputFiles('#history input[type=file]', other);
    await page.waitForFunction(() => document.querySelector('#problem').textContent.includes('is not a walk of this version'));
  }));

  test('is replayed with another threshold, which turns its path', () => open(async (page) => {
    await ask(page, LEAVE);
    await page.getByRole('button', { name: 'Replay with…' }).click();
    await page.fill('#replay input[name=relevant]', '1');
    assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await page.waitForSelector('.remark:not([hidden])');
    assert.match(await page.textContent('.remark:not([hidden])'), /turned at step 2 grade_documents: none_relevant \(recorded: \w+_relevant\) → rewrite/);
    assert.match(await page.locator('.walk').nth(1).locator('.problem').textContent(), /^Here the record ends: step 3 rewrite calls Rewrite/);
    await picture(page, 'replay');
    await page.getByRole('button', { name: 'Replay with…' }).click();
    await page.fill('#replay input[name=max_rewrites]', '21');
    await page.evaluate(() => document.querySelector('#replay form').setAttribute('novalidate', ''));
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await page.waitForFunction(() => document.querySelector('#replay .problem').textContent.includes('max_rewrites'));
  }, {}, { provokes: true }));

  test('goes over two graphs side by side', () => open(async (page) => {
    await page.selectOption('#compare', 'plain-rag');
    await page.fill('#question', LEAVE);
    await page.press('#question', 'Enter');
    await page.waitForFunction((ended) => document.querySelectorAll(ended).length === 2, ENDED);
    const graphs = await page.locator('.walk').evaluateAll((walks) => walks.map((walk) => walk.getAttribute('aria-label')));
    assert.deepEqual(graphs, ['Walk of self-corrective-rag', 'Walk of plain-rag']);
    const [left, right] = await page.locator('.walk').evaluateAll((walks) => walks.map((walk) => walk.getBoundingClientRect().top));
    assert.equal(left, right);
    await picture(page, 'compare');
  }, { viewport: { width: 1400, height: 900 } }));

  test('that the documents do not answer ends in an abstention', () => open(async (page) => {
    await ask(page, 'Which comet did the observatory photograph?');
    assert.match(await page.textContent('.status'), /^Abstained/);
  }));

  test('can be followed up', () => open(async (page) => {
    await ask(page, LEAVE);
    await page.check('#follow-up');
    const sent = page.waitForRequest((request) => request.url().endsWith('/v1/ask'));
    await page.fill('#question', 'Who approves leave?');
    await page.press('#question', 'Enter');
    const { history } = (await sent).postDataJSON();
    assert.equal(history.length, 2);
    assert.equal(history[0].content, LEAVE);
    await page.waitForSelector(ENDED);
  }));

  test('takes options, and a wrong one is named', () => open(async (page) => {
    await page.click('summary');
    await page.fill('[name=top_k]', '999');
    await page.fill('#question', LEAVE);
    await page.evaluate(() => document.querySelector('#ask').setAttribute('novalidate', ''));
    await page.press('#question', 'Enter');
    await page.waitForSelector('.walk .problem:not([hidden])');
    assert.match(await page.textContent('.walk .problem'), /top_k/);
  }, {}, { provokes: true }));
});
