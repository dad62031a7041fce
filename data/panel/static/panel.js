// Measures times, answers to keys, waits for pictures, and sends an answer again when the connection was lost.
// Pages work without it: it improves them only.
"use strict";
document.documentElement.classList.add("js");

const PENDING = "conjury-pending", KEYS = "conjury-keys";
const PICTURES_WAIT = 20000, SEND_WAIT = 15000, LONGEST_PAUSE = 15000, TWO_DIGITS = 700;

const store = (area, name, value) => {
  try {
    if (value === undefined) return area.getItem(name);
    if (value === null) area.removeItem(name); else area.setItem(name, value);
  } catch { /* storage is not allowed: the page goes on without it */ }
  return null;
};

document.addEventListener("DOMContentLoaded", () => {
  const start = document.getElementById("start"), form = document.getElementById("step");
  if (start) describeDevice(start);
  if (form) runStep(form);
  document.querySelector(".problem")?.focus();
});

// A page that the browser kept is of a step that may have passed.
window.addEventListener("pageshow", event => { if (event.persisted) location.reload(); });

function describeDevice(form) {
  const coarse = matchMedia("(pointer: coarse)").matches;
  const small = Math.min(screen.width, screen.height) < 600;
  form.elements.device.value = coarse ? (small ? "phone" : "tablet") : "computer";
  form.elements.width.value = Math.round(innerWidth);
  form.elements.height.value = Math.round(innerHeight);
  form.elements.screen_width.value = Math.round(screen.width);
  form.elements.screen_height.value = Math.round(screen.height);
  form.elements.touch.value = navigator.maxTouchPoints > 0 ? "yes" : "no";
}

function runStep(form) {
  const status = document.getElementById("status");
  const clock = watchTime(form);
  const say = text => { if (status.textContent !== text) status.textContent = text; };
  let sending = false;

  const pending = JSON.parse(store(sessionStorage, PENDING) || "null");
  if (pending && pending.step === form.dataset.step) {
    sending = true;
    deliver(pending.body);
  } else store(sessionStorage, PENDING, null);

  showTogether(form, say).then(complete => {
    if (complete) clock.begin();
    loadAhead(form.dataset.next.split(" ").filter(Boolean));
  });
  explainMissing(form);
  chooseByCard(form);
  const atHand = openAtHand();
  answerByKeys(form, () => clock.begun() && !sending && !atHand?.open);

  form.addEventListener("submit", event => {
    event.preventDefault();
    if (sending) return;
    sending = true;
    clock.stop();
    const body = new URLSearchParams(new FormData(form, event.submitter)).toString();
    for (const button of form.querySelectorAll("button[type=submit]")) button.setAttribute("aria-disabled", "true");
    store(sessionStorage, PENDING, JSON.stringify({ step: form.dataset.step, body }));
    deliver(body, event.submitter);
  });

  async function deliver(body, submitter, tries = 0) {
    const slow = setTimeout(() => say(status.dataset.sending), 1500);
    let answer = null;
    try {
      answer = await fetch(form.action, {
        method: "POST", body, redirect: "manual", credentials: "same-origin",
        headers: { "Content-Type": "application/x-www-form-urlencoded" },
        signal: AbortSignal.timeout(SEND_WAIT),
      });
    } catch { /* the connection was lost */ }
    clearTimeout(slow);
    if (answer && answer.type === "opaqueredirect") {
      store(sessionStorage, PENDING, null);
      location.replace(form.action);
    } else if (answer && answer.status < 500 && answer.status !== 429) {
      store(sessionStorage, PENDING, null);
      sendPlainly(form, body);  // the browser shows the page of the refusal
    } else {
      say(status.dataset.failed);
      const pause = Math.min(1000 * 2 ** tries, LONGEST_PAUSE);
      const again = () => { removeEventListener("online", again); clearTimeout(timer); deliver(body, submitter, tries + 1); };
      const timer = setTimeout(again, pause);
      addEventListener("online", again);
    }
  }
}

function sendPlainly(form, body) {
  const plain = document.createElement("form");
  plain.method = "post";
  plain.action = form.action;
  plain.hidden = true;
  for (const [name, value] of new URLSearchParams(body)) {
    const input = document.createElement("textarea");
    input.name = name;
    input.value = value;
    plain.append(input);
  }
  document.body.append(plain);
  plain.submit();
}

// Times are of the monotonic clock, from when the page is complete and painted.
function watchTime(form) {
  let begun = null, first = null, lostAt = null, lost = 0, lostFor = 0;
  const leave = () => { if (begun !== null && lostAt === null) { lostAt = performance.now(); lost += 1; } };
  const back = () => { if (lostAt !== null) { lostFor += performance.now() - lostAt; lostAt = null; } };
  const input = event => {
    if (begun !== null && first === null && event.isTrusted) first = performance.now() - begun;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : back()));
  addEventListener("blur", leave);
  addEventListener("focus", back);
  addEventListener("pointerdown", input, true);
  addEventListener("keydown", input, true);
  return {
    begin: () => requestAnimationFrame(() => requestAnimationFrame(() => { begun = performance.now(); })),
    begun: () => begun !== null,
    stop: () => {
      back();
      const fields = form.elements;
      fields.response_ms.value = begun === null ? "" : (performance.now() - begun).toFixed(1);
      fields.first_input_ms.value = first === null ? "" : first.toFixed(1);
      fields.focus_lost.value = lost;
      fields.focus_lost_ms.value = lostFor.toFixed(1);
    },
  };
}

// All pictures and clips of a page are shown at once, when the last of them has arrived.
async function showTogether(form, say) {
  const media = [...form.querySelectorAll("[data-media]")];
  const slow = media.length ? setTimeout(() => say(form.nextElementSibling.dataset.loading), 1000) : null;
  const arrived = media.map(one => one.tagName === "IMG" ? one.decode() : playable(one));
  const late = new Promise((_, fail) => setTimeout(fail, PICTURES_WAIT, new Error("late")));
  let complete = true;
  try {
    await (media.length ? Promise.race([Promise.all(arrived), late]) : null);
    clearTimeout(slow);
    if (slow) say("");
  } catch {
    complete = false;
    clearTimeout(slow);
    say(form.nextElementSibling.dataset.picture);
  }
  for (const part of form.querySelectorAll(".pair, .item")) part.classList.add("ready");
  return complete;
}

// Pictures of the next task come into the browser's cache while this one is answered.
function loadAhead(names) {
  for (const name of names) {
    if (/\.(mp4|webm)$/.test(name)) fetch(`/media/${name}`, { priority: "low" }).catch(() => {});
    else new Image().src = `/media/${name}`;
  }
}

function playable(video) {
  return new Promise((done, fail) => {
    if (video.readyState >= 2) done();
    video.addEventListener("loadeddata", done);
    video.addEventListener("error", () => fail(new Error("clip")));
  });
}

// The browser's sentences are in the browser's language; these are in that of the page.
function explainMissing(form) {
  form.addEventListener("invalid", event => {
    if (event.target.validity.valueMissing) event.target.setCustomValidity(form.dataset.missing);
  }, true);
  const clear = event => {
    const same = event.target.name && form.elements[event.target.name];
    for (const one of same instanceof RadioNodeList ? same : [event.target]) one.setCustomValidity?.("");
  };
  form.addEventListener("input", clear, true);
  form.addEventListener("change", clear, true);
}

function chooseByCard(form) {
  form.addEventListener("click", event => {
    if (event.target.closest("label, a, button, video, summary") || getSelection().toString()) return;
    const position = event.target.closest("[data-choose]")?.dataset.choose;
    if (position) choose(form.querySelector(`input[name="a.choice"][value="${position}"]`));
  });
}

function choose(radio) {
  radio.checked = true;
  radio.focus();
  radio.dispatchEvent(new Event("change", { bubbles: true }));
}

// The policy or the instructions in a dialog: by its button or the key ?, closed by Escape or its button.
function openAtHand() {
  const dialog = document.getElementById("at-hand"), button = document.getElementById("open-at-hand");
  if (!dialog || !button) return null;
  button.hidden = false;
  button.addEventListener("click", () => dialog.showModal());
  document.getElementById("close-at-hand").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });
  document.addEventListener("keydown", event => {
    if (event.key !== "?" || dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
    if (store(localStorage, KEYS) === "off" || event.target.closest("textarea, select, input:not([type=radio])")) return;
    event.preventDefault();
    dialog.showModal();
  });
  return dialog;
}

// One key answers; it can be turned off, for those whose software sends keys.
function answerByKeys(form, ready) {
  const toggle = document.getElementById("keys");
  let on = store(localStorage, KEYS) !== "off", typed = "", timer = null;
  const show = () => {
    document.documentElement.classList.toggle("no-keys", !on);
    if (toggle) toggle.textContent = on ? toggle.dataset.off : toggle.dataset.on;
  };
  if (toggle) {
    toggle.hidden = false;
    toggle.addEventListener("click", () => { on = !on; store(localStorage, KEYS, on ? null : "off"); show(); });
  }
  show();

  const groups = [...form.querySelectorAll("[data-keys]")];
  const radios = group => [...group.querySelectorAll("input[data-key]")];
  const open = () => groups.find(group => !group.querySelector(":checked"));
  let current = null;  // the group that keys answer

  document.addEventListener("keydown", event => {
    if (!on || !ready() || event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
    if (event.target.closest("textarea, select, input:not([type=radio])")) return;
    if (event.key === "Enter") {
      const button = document.getElementById("go-on");
      if (!button || event.target.closest("button, a, summary, video")) return;
      event.preventDefault();
      form.requestSubmit(button);
      return;
    }
    const key = keyOf(event);
    if (key === null) return;
    const focused = event.target.closest("[data-keys]");
    const group = (typed && current) || (focused && !(focused.querySelector(":checked") && open()) ? focused : open() || focused || groups[groups.length - 1]);
    if (!group) return;
    const all = radios(group), two = all.find(one => one.dataset.key === typed + key);
    const radio = two || all.find(one => one.dataset.key === key);
    if (!radio) return;
    event.preventDefault();
    clearTimeout(timer);
    choose(radio);
    current = group;
    typed = all.some(one => one.dataset.key.length > radio.dataset.key.length && one.dataset.key.startsWith(radio.dataset.key)) ? radio.dataset.key : "";
    const move = () => {
      typed = "";
      const following = groups.slice(groups.indexOf(group) + 1).find(one => !one.querySelector(":checked"));
      if (following) radios(following)[0]?.focus();
      else if ("atOnce" in form.dataset && !open()) form.requestSubmit(document.getElementById("go-on"));
    };
    if (typed) timer = setTimeout(move, TWO_DIGITS); else move();
  });
}

// Letters and digits wherever they are on a keyboard of another script.
function keyOf(event) {
  if (/^[0-9a-b]$/i.test(event.key)) return event.key.toLowerCase();
  if (/^[\x20-\x7e]$/.test(event.key)) return null;
  const found = /^(?:Key([AB])|(?:Digit|Numpad)([0-9]))$/.exec(event.code);
  return found ? (found[1] || found[2]).toLowerCase() : null;
}
