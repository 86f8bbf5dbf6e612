// What goes wrong is said.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LEAVE, open } from './browser.mjs';

describe('failures', () => {
  test('a refusal is shown with the fields that are wrong and when to try again', () => open(async (page) => {
    await page.route('**/v1/ask', (route) => route.fulfill({
      status: 429, contentType: 'application/problem+json',
      body: JSON.stringify({ title: 'Too many requests', detail: 'the orchestrator is full', code: 'RESOURCE_EXHAUSTED', retryAfter: 2, errors: [{ field: 'question', description: 'is long' }] }),
    }));
    await page.fill('#question', LEAVE);
    await page.press('#question', 'Enter');
    await page.waitForSelector('.walk .problem:not([hidden])');
    const says = await page.textContent('.walk .problem');
    assert.match(says, /the orchestrator is full\nquestion: is long\nTry again in 2 s\./);
  }, {}, { provokes: true }));

  test('a gateway that is gone is said', () => open(async (page) => {
    await page.route('**/v1/ask', (route) => route.abort());
    await page.fill('#question', LEAVE);
    await page.press('#question', 'Enter');
    await page.waitForSelector('.walk .problem:not([hidden])');
    assert.match(await page.textContent('.walk .problem'), /does not answer/);
  }, {}, { provokes: true }));

  test('a walk is stopped by its button and by Escape', () => open(async (page) => {
    await page.route('**/v1/ask', () => {});
    for (const stop of [() => page.click('#cancel'), () => page.keyboard.press('Escape')]) {
      await page.fill('#question', LEAVE);
      await page.press('#question', 'Enter');
      await page.waitForSelector('#cancel:not([hidden])');
      await stop();
      await page.waitForSelector('.walk .problem:not([hidden])');
      assert.equal(await page.textContent('.walk .problem'), 'Stopped.');
      await page.waitForSelector('#submit:not([hidden])');
    }
  }, {}, { provokes: true }));

  test('a key that is asked for is sent', () => open(async (page) => {
    await page.route('**/v1/collections', (route) => (route.request().headers().authorization === 'Bearer right'
      ? route.continue()
      : route.fulfill({ status: 401, contentType: 'application/problem+json', body: '{"detail":"a key is needed"}' })));
    await page.reload();
    await page.waitForSelector('#key[open]');
    await page.fill('#key-value', 'right');
    await page.press('#key-value', 'Enter');
    await page.waitForSelector('#problem', { state: 'hidden' });
    assert.equal(await page.locator('#key[open]').count(), 0);
  }, {}, { provokes: true }));
});
