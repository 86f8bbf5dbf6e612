// Where a passage stands in its document, in words: the headings above it, and the page of a PDF.

import { codePoints } from './format.js';

/** The number of a page of a PDF, of a heading that is one's, or `null`: 3 of `Page 3`. */
function pageNumber(heading) {
  const found = /^Page ([0-9]{1,9})\s*$/.exec(heading);
  return found && Number(found[1]);
}

/**
 * The page of a PDF on which quoted characters of a passage stand, or on which its text begins where nothing is quoted;
 * `null` where that is unknown. It is that of the last line `# Page 3` of the text up to there, else that of the headings.
 * Of a refined passage, a line counts only for what follows it without a gap.
 * @param {object} passage a `Passage`
 * @param {{start?: number}} [span] what is quoted of its text
 */
export function pageOf(passage, span) {
  const at = span?.start ?? 0;
  let last = null;
  let start = 0;
  for (const line of (passage.text ?? '').split('\n')) {
    if (start > at) break;
    const page = line.startsWith('# ') ? pageNumber(line.slice(2)) : null;
    if (page !== null) last = { page, start };
    start += codePoints(line).length + 1;
  }
  const pieces = passage.pieces ?? [];
  const whole = ({ inText }) => (inText?.start ?? 0) <= last.start && at < (inText?.end ?? 0);
  if (last && (pieces.length === 0 || pieces.some(whole))) return last.page;
  return (passage.headings ?? []).map(pageNumber).findLast((page) => page !== null) ?? null;
}

/** Where quoted characters of a passage stand, `page 3 › Leave`; empty where that is unknown. */
export function placeOf(passage, span) {
  const page = pageOf(passage, span);
  const headings = (passage.headings ?? []).filter((heading) => heading && pageNumber(heading) === null);
  return [...(page === null ? [] : [`page ${page}`]), ...headings].join(' › ');
}

/** The address of a document, of a PDF that of a page of it. */
export function addressOf(address, page) {
  const url = new URL(address);
  if (page !== null && url.hash === '' && url.pathname.toLowerCase().endsWith('.pdf')) url.hash = `page=${page}`;
  return url.href;
}
