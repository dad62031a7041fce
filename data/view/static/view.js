// Keys, and filters that apply when they are chosen. Pages work without it.
"use strict";
const KEYS = "conjury-view-keys";
const kept = value => {
  try {
    if (value === undefined) return localStorage.getItem(KEYS);
    if (value === null) localStorage.removeItem(KEYS); else localStorage.setItem(KEYS, value);
  } catch { /* storage is not allowed: keys stay on */ }
  return null;
};

const rows = [...document.querySelectorAll("[data-row]")];
const search = document.querySelector("input[type=search]");
const toggle = document.getElementById("keys");
let on = kept() !== "off";

for (const one of document.querySelectorAll("[data-submit]")) one.addEventListener("change", () => one.form.requestSubmit());
if (toggle) {
  const show = () => { toggle.hidden = false; toggle.textContent = on ? "Turn keys off" : "Turn keys on"; };
  toggle.addEventListener("click", () => { on = !on; kept(on ? null : "off"); show(); });
  show();
}

// Empty fields would make addresses long.
document.getElementById("filters")?.addEventListener("formdata", event => {
  const set = [...event.formData].filter(([name, value]) => value && !(name === "order" && value === "asked"));
  for (const name of [...event.formData.keys()]) event.formData.delete(name);
  for (const [name, value] of set) event.formData.append(name, value);
});

function visible() { return rows.filter(row => !row.closest("[hidden]")); }

function move(step) {
  const shown = visible(), at = shown.indexOf(document.activeElement);
  const next = shown[at < 0 ? (step > 0 ? 0 : shown.length - 1) : Math.min(Math.max(at + step, 0), shown.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", event => {
  if (!on || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && document.activeElement === search) { search.blur(); return; }
  if (event.target.closest("input, select, textarea, video, audio")) return;
  if (event.key === "/") {
    event.preventDefault();
    if (search) search.select(), search.focus(); else location.href = "/#search";
    return;
  }
  const link = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
  if (link) { event.preventDefault(); link.click(); return; }
  if (rows.length && (event.key === "j" || event.key === "k")) { event.preventDefault(); move(event.key === "j" ? 1 : -1); }
});

if (location.hash === "#search") search?.focus();

// The file that stands alone filters its answers here, where there is no server.
const alone = document.getElementById("alone");
if (alone) {
  const articles = [...document.querySelectorAll("article")];
  const count = document.getElementById("count");
  const words = articles.map(article => article.textContent.toLowerCase());
  const filter = () => {
    const text = search.value.toLowerCase();
    const wanted = [...alone.querySelectorAll("select")].filter(one => one.value).map(one => [one.name, one.value]);
    let n = 0;
    articles.forEach((article, at) => {
      const fits = wanted.every(([name, value]) => article.dataset[name].split("\u001f").includes(value));
      article.hidden = !(fits && words[at].includes(text));
      n += !article.hidden;
    });
    count.textContent = `${n.toLocaleString("en")} of ${articles.length.toLocaleString("en")} shown`;
  };
  for (const kind of ["input", "change"]) alone.addEventListener(kind, filter);
  alone.addEventListener("submit", event => event.preventDefault());
  alone.hidden = false;
  filter();
}
