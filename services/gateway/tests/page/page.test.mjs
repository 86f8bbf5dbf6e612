// The page in a real browser, over real services. What it needs is in the environment:
// EMEND_URL, the gateway's address; EMEND_PEERS, the folder where playwright-core and axe-core are installed;
// CHROMIUM, the browser; SCREENSHOTS, a folder to write pictures to (optional).
import assert from 'node:assert/strict';
import { readFile, writeFile, mkdtemp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

const { EMEND_URL: url, EMEND_PEERS: peers, CHROMIUM: chromium, SCREENSHOTS: pictures } = process.env;
const require = createRequire(join(peers, 'package.json'));
const playwright = require('playwright-core');
const axe = await readFile(require.resolve('axe-core/axe.min.js'), 'utf8');

const LEAVE = 'How many days of paid leave does every employee have?';
const ENDED = '.tools:not([hidden])';
/** Most bytes that travel until the page is complete. */
const PAGE_BYTES = 70_000;
/** Nothing takes near as long; a hang fails a test. */
const PATIENCE = 120_000;

let browser;
let folder;
before(async () => {
  browser = await playwright.chromium.launch({ executablePath: chromium, args: ['--no-sandbox'] });
  folder = await mkdtemp(join(tmpdir(), 'emend-page-'));
});
after(() => browser?.close());

/** Opens the page; what the browser complains of fails the test, unless the test provokes it. */
async function open(use, options = {}, { provokes = false } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  if (!provokes) page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  try {
    await page.goto(url);
    await page.waitForSelector('#graph option', { state: 'attached' });
    await use(page);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

async function ask(page, question) {
  await page.fill('#question', question);
  await page.press('#question', 'Enter');
  await page.waitForSelector(ENDED);
}

async function picture(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

/** What axe finds wrong with the page as it is. */
async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run());
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
}

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
    const file = join(folder, 'walk.json');
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

    const other = join(folder, 'other.json');
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

describe('languages', () => {
  test('a Korean question is answered in Korean, and Enter that ends a composed word does not ask', () => open(async (page) => {
    await page.fill('#question', '휴가는 누가 승인합니까?');
    await page.locator('#question').dispatchEvent('keydown', { key: 'Enter', isComposing: true });
    assert.equal(await page.locator('.walk').count(), 0);
    await page.press('#question', 'Enter');
    await page.waitForSelector(ENDED);
    assert.match(await page.textContent('.final'), /팀장/);
    await picture(page, 'korean-dark');
  }, { colorScheme: 'dark' }));
});

describe('documents', () => {
  test('are added with progress, listed, asked about and removed', () => open(async (page) => {
    const file = join(folder, 'parking.md');
    await writeFile(file, '# Parking\n\nThe garage closes at 21:40. Bicycles stand in the yard.\n');
    await page.click('#open-documents');
    await page.setInputFiles('#documents input[type=file]', file);
    await page.waitForFunction(() => document.querySelector('#documents [role=status]')?.textContent.includes('1 document added'));
    assert.match(await page.textContent('#documents .list'), /parking\.md: ingested/);
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
    const transfer = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(['# Keys\n\nSpare keys are at the front desk.\n'], 'keys.md', { type: 'text/markdown' }));
      return transfer;
    });
    await page.dispatchEvent('body', 'dragover', { dataTransfer: transfer });
    assert.equal(await page.isVisible('#drop'), true);
    await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
    await page.waitForFunction(() => document.querySelector('#documents [role=status]')?.textContent.includes('1 document added'));
  }));
});

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

describe('everybody', () => {
  test('the keyboard alone asks, opens a citation and closes it', () => open(async (page) => {
    await page.keyboard.type(LEAVE);
    await page.keyboard.press('Enter');
    await page.waitForSelector(ENDED);
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement.classList.contains('cite'))) break;
    }
    await page.keyboard.press('Enter');
    await page.waitForSelector('#passage[open]');
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.classList.contains('cite')), true, 'focus comes back');
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
    const context = await browser.newContext();
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
    const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
    console.log(`${bytes} bytes, first paint after ${Math.round(paint)} ms`);
    await context.close();
  });
});
