// Runs before the first paint, so that a remembered theme does not flash. The content policy forbids inline scripts.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("compilemask.theme");
  } catch {
    chosen = null;
  }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
