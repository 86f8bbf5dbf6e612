// Documents and collections.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ask, folder, open, picture, url, violations } from './browser.mjs';

/** How many files an upload has stored, and how many it was to store. */
const stored = (page) => page.locator('#documents progress').evaluate((progress) => [progress.value, progress.max]);

/** Drops files on the page, by name, and waits until all are stored. */
async function drop(page, files) {
  const dataTransfer = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const [name, text] of Object.entries(files)) transfer.items.add(new File([text], name, { type: 'text/markdown' }));
    return transfer;
  }, files);
  await page.dispatchEvent('body', 'dragover', { dataTransfer });
  assert.equal(await page.isVisible('#drop'), true);
  await page.dispatchEvent('body', 'drop', { dataTransfer });
  await page.waitForFunction(() => document.querySelector('#documents [role=status]')?.textContent.includes('added'));
}

/** The names of the collections that can be chosen. */
const collections = (page) => page.locator('#collection option').evaluateAll((options) => options.map(({ value }) => value));

describe('documents', () => {
  test('are added with progress, listed, asked about and removed', () => open(async (page) => {
    const file = join(folder(), 'parking.md');
    await writeFile(file, '# Parking\n\nThe garage closes at 21:40. Bicycles stand in the yard.\n');
    await page.click('#open-documents');
    await page.setInputFiles('#documents input[type=file]', file);
    await page.waitForFunction(() => document.querySelector('#documents [role=status]')?.textContent.includes('1 document added'));
    assert.match(await page.textContent('#documents .list'), /parking\.md: ingested/);
    assert.deepEqual(await stored(page), [1, 1]);
    await page.keyboard.press('Escape');
    await ask(page, 'When does the garage close?');
    assert.match(await page.textContent('.final'), /21:40/);

    await page.click('#open-documents');
    page.on('dialog', (dialog) => dialog.accept());
    const row = page.locator('#documents .list li', { hasText: 'parking.md' });
    await row.getByRole('button').click();
    await row.waitFor({ state: 'detached' });
  }));

  test('are added where files are dropped', () => open(async (page) => {
    await drop(page, { 'keys.md': '# Keys\n\nSpare keys are at the front desk.\n', 'lamps.md': '# Lamps\n\nLamps are in the cellar.\n' });
    assert.match(await page.textContent('#documents [role=status]'), /^2 documents added/);
    assert.deepEqual(await stored(page), [2, 2]);
  }));
});

describe('a collection', () => {
  test('is made, filled, asked about and removed', () => open(async (page) => {
    await page.click('#open-documents');
    const name = page.locator('#new-collection');
    for (const [wrong, why] of [['', 'valueMissing'], ['../keys', 'patternMismatch'], ['.keys', 'patternMismatch'], ['한국', 'patternMismatch'], ['default', 'customError']]) {
      await name.fill(wrong);
      await page.click('#documents form button');
      assert.equal(await name.evaluate((input, why) => input.validity[why], why), true, wrong);
      assert.equal(await page.textContent('#documents h2'), 'Documents of default');
    }
    await name.fill('harbour-1.0_b');
    await name.press('Enter');
    assert.equal(await page.textContent('#documents h2'), 'Documents of harbour-1.0_b');
    await page.waitForFunction(() => document.querySelector('#documents [role=status]').textContent === 'No documents yet.');
    assert.equal(await page.inputValue('#collection'), 'harbour-1.0_b');
    assert.deepEqual(await violations(page), []);
    await picture(page, 'collection');
    await page.keyboard.press('Escape');

    await drop(page, { 'boats.md': '# Boats\n\nThe rescue boat is named Aurora.\n' });
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.querySelector('#collection').selectedOptions[0].textContent === 'harbour-1.0_b (1)');
    const sent = page.waitForRequest((request) => request.url().endsWith('/v1/ask'));
    await ask(page, 'What is the name of the rescue boat?');
    assert.equal((await sent).postDataJSON().collection, 'harbour-1.0_b');
    assert.match(await page.textContent('.final'), /Aurora/);

    await page.click('#open-documents');
    await page.waitForSelector('#documents .list li');
    const remove = page.getByRole('button', { name: 'Remove collection harbour-1.0_b' });
    let asks = '';
    const answer = (yes) => page.once('dialog', (dialog) => {
      asks = dialog.message();
      return yes ? dialog.accept() : dialog.dismiss();
    });
    answer(false);
    await remove.click();
    assert.match(asks, /^Remove the collection harbour-1\.0_b with all its documents\?/);
    assert.equal(await page.textContent('#documents h2'), 'Documents of harbour-1.0_b');
    answer(true);
    await remove.click();
    await page.waitForFunction(() => document.querySelector('#documents [role=status]').textContent.includes('is removed, with 1 document.'));
    await page.waitForFunction(() => document.querySelector('#collection').value === 'default');
    assert.equal((await collections(page)).includes('harbour-1.0_b'), false);
    const kept = await (await page.request.get(`${url}v1/collections`)).json();
    assert.equal(kept.collections.some(({ name }) => name === 'harbour-1.0_b'), false);
  }));

  test('without a document is forgotten when it is removed', () => open(async (page) => {
    await page.click('#open-documents');
    await page.fill('#new-collection', 'empty');
    await page.press('#new-collection', 'Enter');
    page.on('dialog', (dialog) => dialog.accept());
    await page.getByRole('button', { name: 'Remove collection empty' }).click();
    await page.waitForFunction(() => document.querySelector('#documents [role=status]').textContent.includes('with 0 documents'));
    await page.waitForFunction(() => ![...document.querySelectorAll('#collection option')].some(({ value }) => value === 'empty'));
  }));
});
