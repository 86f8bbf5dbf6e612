// How numbers, times and names are written.

/** Seconds of a protobuf duration in JSON, `"1.500s"`. */
export function seconds(duration) {
  return duration ? Number.parseFloat(duration) : 0;
}

/** A time for people: milliseconds below ten seconds. */
export function shortTime(value) {
  return value < 10 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`;
}

/** A number of things: `1 step`, `3 steps`. */
export function count(number, one, more = `${one}s`) {
  return `${number.toLocaleString('en')} ${number === 1 ? one : more}`;
}

/** The name of an enum's value without the enum's: `WALK_STATUS_ANSWERED` is `answered`. */
export function enumName(value, prefix) {
  return (value ?? '').replace(prefix, '').toLowerCase().replaceAll('_', ' ');
}

/** A probability with two places. */
export function probability(value) {
  return value.toFixed(2);
}

/**
 * The characters of a text. Spans of the contract count code points, strings of this language UTF-16 units.
 * @param {string} text
 */
export function codePoints(text) {
  return Array.from(text);
}

/** What a usage cost, in words; empty when nothing was called. */
export function cost(usage) {
  const calls = usage?.modelCalls ?? 0;
  const read = Number(usage?.inputTokens ?? 0);
  const written = Number(usage?.outputTokens ?? 0);
  if (calls === 0 && read === 0 && written === 0) return '';
  const tokens = read + written > 0 ? `, ${read.toLocaleString('en')} + ${written.toLocaleString('en')} tokens` : '';
  return `${count(calls, 'model call')}${tokens}`;
}

/** A link's address if it is one that may be opened, or `null`. */
export function webAddress(source) {
  try {
    const url = new URL(source);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null;
  } catch {
    return null;
  }
}
