// The options of a graph as inputs.

import { h } from './dom.js';

/**
 * Fills a place with an input for each option.
 * @param {HTMLElement} place
 * @param {object[]} options `GraphOption`s
 * @param {Object<string, number>} [values] what holds where nothing is set, in place of the defaults
 */
export function showOptions(place, options, values = {}) {
  place.replaceChildren(...options.map((option) => {
    const input = h('input', {
      type: 'number', name: option.name, min: String(option.minimum ?? 0), max: String(option.maximum), step: 'any',
      placeholder: String(values[option.name] ?? option.defaultValue ?? 'calibrated'),
    });
    return h('label', { title: option.description },
      h('span', {}, option.name.replaceAll('_', ' ')), input,
      h('span.dim', {}, `${option.minimum ?? 0}–${option.maximum}. ${option.description}`));
  }));
}

/** What was set, by name; those left empty are not in it. */
export function chosenOptions(place) {
  const inputs = [...place.querySelectorAll('input')].filter((input) => input.value !== '');
  return Object.fromEntries(inputs.map((input) => [input.name, input.valueAsNumber]));
}
