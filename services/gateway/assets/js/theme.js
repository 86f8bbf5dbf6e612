// Light or dark: as the system says until the user chooses.

const STORE = 'emend-theme';
const THEMES = ['system', 'light', 'dark'];
const SIGNS = { system: '◐', light: '☀', dark: '☾' };

/** Lets a button switch through the themes. @param {HTMLButtonElement} button */
export function setUpTheme(button) {
  let theme = THEMES.includes(localStorage.getItem(STORE)) ? localStorage.getItem(STORE) : 'system';
  const show = () => {
    document.documentElement.dataset.theme = theme;
    button.textContent = SIGNS[theme];
    button.setAttribute('aria-label', `Colours: ${theme === 'system' ? 'as the system' : theme}`);
  };
  button.addEventListener('click', () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    localStorage.setItem(STORE, theme);
    show();
  });
  show();
}
