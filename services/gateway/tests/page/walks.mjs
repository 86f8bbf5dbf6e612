// What a walk shows: its graph, its steps, its sentences, its strips, what it cost and its trace.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ENDED, LEAVE, ask, folder, open, picture, violations } from './browser.mjs';
import { ANSWER, EVENTS, KEPT, TRACE, WITHDRAWN, saved, until } from './made-walk.mjs';

/** Shows the made walk, as a file that was saved. */
async function load(page, walk = saved()) {
  const file = join(folder(), 'made.json');
  await writeFile(file, JSON.stringify(walk));
  await page.click('#open-history');
  await page.setInputFiles('#history input[type=file]', file);
  await page.waitForSelector(ENDED);
}

/** Moves the slider to where so many events have happened. */
const moveTo = (page, events) => page.locator('.tools input[type=range]').fill(String(events));

/** The name of each node that was visited, with its numbers, and what stands below its name. */
const visited = (page) => page.locator('.node.visited:not(.end)').evaluateAll((nodes) => nodes.map((node) => {
  const [name, detail, visits] = [...node.querySelectorAll('text')].map((text) => text.textContent);
  return [name, visits, detail];
}));

describe('a walk', () => {
  test('has its sentences committed or struck out, and says what was withdrawn', () => open(async (page) => {
    await load(page);
    assert.equal(await page.textContent('.answer summary'), '1 sentence withdrawn');
    assert.doesNotMatch(await page.textContent('.final'), /40 days/);
    await moveTo(page, until(({ textDelta }) => textDelta));
    await page.waitForFunction((text) => document.querySelector('.draft')?.textContent === text, `${KEPT} `);
    assert.equal(await page.textContent('.status'), 'At generate');
    await moveTo(page, until(({ sentenceRetracted }) => sentenceRetracted));
    await page.waitForSelector('.draft del');
    assert.deepEqual(await page.locator('.draft .committed').allTextContents(), [KEPT]);
    assert.deepEqual(await page.locator('.draft del').allTextContents(), [WITHDRAWN]);
    await picture(page, 'struck-out');
    await moveTo(page, until(({ textDelta }) => textDelta?.attempt === 2));
    await page.waitForFunction((text) => document.querySelector('.draft')?.textContent === text, ANSWER);
    assert.equal(await page.textContent('.answer summary'), '1 sentence withdrawn');
    await page.click('.answer summary');
    assert.equal(await page.textContent('.answer li'), `${WITHDRAWN} attempt 1`);
    await moveTo(page, EVENTS.length);
    await page.waitForSelector('.final');
    assert.equal((await page.locator('.final .sentence').allTextContents()).join(''), ANSWER);
  }));

  test('says what it cost, and links its trace where the gateway knows the address', () => open(async (page) => {
    await load(page);
    assert.match(await page.textContent('.facts'), /^7 steps · 1589 ms · 5 model calls, 1,630 \+ 65 tokens · groundedness 0\.99/);
    assert.match(await page.locator('.steps li').nth(2).textContent(), /1 model call, 500 \+ 30 tokens/);
    const link = page.locator('.facts a');
    assert.equal(await link.getAttribute('href'), process.env.EMEND_TRACE_URL.replace('{traceId}', TRACE));
    assert.match(await link.getAttribute('href'), new RegExp(`/${TRACE}$`));
    assert.equal(await link.textContent(), TRACE);
    // What a file has for an id may be anything.
    await page.reload();
    await load(page, saved('../../search?q='));
    assert.equal(await page.textContent('.facts code'), '../../search?q=');
    assert.equal(await link.count(), 0);
  }));

  test('is drawn in order, with outcome, time and reason', () => open(async (page) => {
    await load(page);
    assert.deepEqual((await visited(page)).sort((a, b) => Number.parseInt(a[1], 10) - Number.parseInt(b[1], 10)), [
      ['retrieve', '1', 'passages · 12 ms'],
      ['grade documents', '2', 'all relevant · 7 ms'],
      ['generate', '3, 5', 'generated · 510 ms'],
      ['grade generation', '4, 6', 'useful · 200 ms'],
      ['finalize response', '7', 'verified · 0 ms'],
    ]);
    // A screen reader reads every visit, and passes over what was not visited.
    const named = page.getByRole('img', { name: 'generate, step 3: generated, 640 ms; step 5: generated, 510 ms', exact: true });
    assert.equal(await named.count(), 1);
    assert.equal(await page.getByRole('img', { name: /rewrite/ }).count(), 0);
    const reasons = EVENTS.flatMap(({ edgeTaken }) => (edgeTaken ? [edgeTaken.reason] : []));
    const titles = await page.locator('.edge.taken title').allTextContents();
    assert.deepEqual(titles.flatMap((title) => title.split('\n').slice(1)).filter(Boolean).sort(), [...new Set(reasons)].sort());
    assert.ok(titles.includes('grade_generation → generate\n`grade_generation` ended in `not_supported` while `visits(generate) <= max_retries`'));
    const labels = await page.locator('.edge.taken text').allTextContents();
    assert.ok(labels.includes('not supported'), labels.join());
    assert.equal(await page.locator('.edge:not(.taken) text:not(:empty)').count(), 0);
    // Where the walk has not come to is not drawn as if it had.
    await moveTo(page, until(({ stepFinished }) => stepFinished?.step.number === 1));
    await page.waitForFunction(() => document.querySelectorAll('.node.visited:not(.end)').length === 1);
    assert.equal(await page.locator('.edge.taken').count(), 1);
  }));

  test('of real services has the same numbers, outcomes, times and reasons in its graph and its steps', () => open(async (page) => {
    await ask(page, LEAVE);
    const steps = await page.locator('.steps li').evaluateAll((rows) => rows.map((row) => ({
      number: row.querySelector('.number').textContent,
      node: row.querySelector('strong').textContent,
      detail: `${row.querySelector('.outcome').textContent} · ${row.querySelector('.row .dim').textContent}`,
      reason: row.querySelector(':scope > .dim:last-child').textContent.replace(/^→ [^:]+: /, ''),
      bar: row.querySelector('.bar span').getBoundingClientRect().width,
    })));
    assert.deepEqual(steps.map(({ number }) => number), steps.map((_, index) => String(index + 1)));
    const drawn = new Map((await visited(page)).map(([name, visits, detail]) => [name, { visits, detail }]));
    const titles = await page.locator('.edge.taken title').allTextContents();
    for (const { number, node, detail, reason, bar } of steps) {
      assert.match(detail, /^[a-z ]+ · [0-9.]+ m?s$/);
      assert.deepEqual(drawn.get(node), { visits: number, detail });
      assert.ok(titles.some((title) => title.split('\n').includes(reason)), `${reason}: ${titles}`);
      assert.ok(bar > 0, `${node}: ${bar}`);
    }
  }));

  test('that refined its passages shows the strips that were kept and dropped, with their scores', () => open(async (page) => {
    await page.selectOption('#graph', 'corrective-rag');
    await ask(page, LEAVE);
    const card = page.locator('.passage', { hasText: 'Every employee has 25 days' });
    assert.match(await card.textContent(), /1 of 2 strips kept$/);
    await card.click();
    assert.equal(await page.textContent('#passage h3'), 'Strips of the passage before it was refined');
    const strips = page.locator('#passage h3 + .text');
    assert.match(await strips.locator('mark').first().textContent(), /25 days of paid leave/);
    assert.match(await strips.locator('mark + .score').first().textContent(), /^kept, 0\.\d\d$/);
    assert.match(await strips.locator('del').first().textContent(), /second class/);
    assert.match(await strips.locator('del + .score').first().textContent(), /^dropped, 0\.\d\d$/);
    assert.deepEqual(await violations(page), []);
    await picture(page, 'strips');
  }));
});
