// Where the trace of a walk is shown, as the gateway was told.

import { h } from './dom.js';

const PLACEHOLDER = '{traceId}';

let address = '';

/** Takes where traces are shown. @param {string} [url] an address with `{traceId}`; without one there is nothing to link to */
export function setTraceUrl(url) {
  address = url ?? '';
}

/** The id of a trace, with a link to it where the gateway knows one. @param {string} id */
export function traceLink(id) {
  const code = h('code', {}, id);
  // A walk from a file may have anything for an id.
  if (!address || !/^[0-9a-f]{32}$/.test(id)) return code;
  return h('a', { href: address.replace(PLACEHOLDER, id), target: '_blank', rel: 'noopener noreferrer' }, code);
}
