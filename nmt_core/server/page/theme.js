// Before anything is drawn, so that no page flashes up in the other theme: hence no module.
"use strict";
{
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  /** Return what was chosen here before, or null; storage may be forbidden. */
  const recall = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };

  const keep = (theme) => {
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // it then lasts until the page is closed
    }
  };

  const chosen = recall();
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

  document.addEventListener("DOMContentLoaded", () => {
    const control = document.getElementById("theme");
    const show = () => control.setAttribute("aria-checked", String(isDark()));
    control.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      keep(root.dataset.theme);
      show();
    });
    system.addEventListener("change", show);
    show();
  });
}
