// Light, dark, or as the system has it.

const KEY = "completiond-theme";
const THEMES = ["system", "light", "dark"];

/** Have `button` go through the themes; the choice is kept. */
export function followTheme(button) {
  const show = (theme) => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  let theme = THEMES.find((name) => name === localStorage.getItem(KEY)) ?? "system";
  show(theme);
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    localStorage.setItem(KEY, theme);
    show(theme);
  });
}
