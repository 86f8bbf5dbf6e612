// The browser, and how tests use the page in it. What it needs is in the environment: see `page.test.mjs`.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';

const { EMEND_URL, EMEND_PEERS, CHROMIUM, SCREENSHOTS } = process.env;
const require = createRequire(join(EMEND_PEERS, 'package.json'));
const playwright = require('playwright-core');
const axe = await readFile(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Where the page is. */
export const url = EMEND_URL;
export const LEAVE = 'How many days of paid leave does every employee have?';
/** What is there when a walk has ended. */
export const ENDED = '.tools:not([hidden])';
/** Nothing takes near as long, in milliseconds; a hang fails a test. */
export const PATIENCE = 120_000;
/** More presses than the page has places for the focus. */
const MOST_PRESSES = 100;

let browser;
let files;
before(async () => {
  browser = await playwright.chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  files = await mkdtemp(join(tmpdir(), 'emend-page-'));
});
after(async () => {
  await browser?.close();
  if (files) await rm(files, { recursive: true });
});

/** A folder for the files of tests. */
export const folder = () => files;

/** A window of somebody who was never here before. */
export const newContext = (options) => browser.newContext(options);

/**
 * Opens the page; what the browser complains of fails the test, unless the test provokes it.
 * @param {(page: object) => Promise<void>} use
 * @param {object} [options] of the window
 * @param {{provokes?: boolean, at?: string}} [more] `at`: where the page is opened
 */
export async function open(use, options = {}, { provokes = false, at = url } = {}) {
  const context = await newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  if (!provokes) page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  try {
    await page.goto(at);
    await page.waitForSelector('#graph option', { state: 'attached' });
    await use(page);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

/** Asks a question and waits until its walk has ended. */
export async function ask(page, question) {
  await page.fill('#question', question);
  await page.press('#question', 'Enter');
  await page.locator('.walk', { has: page.getByRole('heading', { name: question, exact: true }) }).locator(ENDED).waitFor();
}

/** Presses Tab until what a selector names has the focus. */
export async function tabTo(page, selector) {
  for (let presses = 0; presses < MOST_PRESSES; presses += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate((selector) => document.activeElement?.matches(selector), selector)) return;
  }
  assert.fail(`Tab does not come to ${selector}`);
}

/** Keeps a picture of the page where somebody asked for pictures. */
export async function picture(page, name) {
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}

/** What axe finds wrong with the page as it is. */
export async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run());
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
}
