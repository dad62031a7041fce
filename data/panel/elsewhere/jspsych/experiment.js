"use strict";

// One visit: consent, instructions, questions, practice, tasks with attention checks, questions, end page.
// Texts of the study are escaped wherever they become HTML; consent and instructions are HTML already.

const TRIES = 50; // to be given a slot while others are given theirs

function escaped(text) {
  const marks = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return String(text).replace(/[&<>"']/g, (mark) => marks[mark]);
}

function show(html) {
  document.body.innerHTML = `<main id="end" class="jspsych-content">${html}</main>`;
}

function shownHtml(shown) {
  let html = "";
  if (shown.media && shown.kind === "video") {
    html += `<video controls preload="auto" src="media/${escaped(shown.media)}"></video>`;
  } else if (shown.media) {
    html += `<img src="media/${escaped(shown.media)}" alt="${escaped(shown.alt)}">`;
  }
  if (shown.fields.length === 1 && !shown.media) {
    html += `<p>${escaped(shown.fields[0][1])}</p>`;
  } else if (shown.fields.length > 0) {
    const row = ([name, value]) => `<tr><th>${escaped(name)}</th><td>${escaped(value)}</td></tr>`;
    html += `<table>${shown.fields.map(row).join("")}</table>`;
  }
  return html;
}

function optionsHtml(name, label, options, required) {
  const one = (option) =>
    `<label><input type="radio" name="${escaped(name)}" value="${escaped(option.value)}"` +
    `${required ? " required" : ""}> ${escaped(option.label)}</label> `;
  return `<fieldset><legend>${escaped(label)}</legend>${options.map(one).join("")}</fieldset>`;
}

function inputHtml(name, label, kind, minimum, maximum, required) {
  const limit = (word, value) => (value === null || value === undefined ? "" : ` ${word}="${escaped(value)}"`);
  const whole = kind === "number" ? ' step="1"' : ' maxlength="2000"';
  return (
    `<div class="field"><label for="field-${escaped(name)}">${escaped(label)}</label><br>` +
    `<input type="${kind}" id="field-${escaped(name)}" name="${escaped(name)}"${whole}` +
    `${limit("min", minimum)}${limit("max", maximum)}${required ? " required" : ""}></div>`
  );
}

function answerHtml(answer) {
  const label = answer.text === "" ? answer.label : `${answer.label}. ${answer.text}`;
  if (answer.options.length > 0) {
    return optionsHtml(answer.id, label, answer.options, true);
  }
  const limits = `${label} (${answer.minimum}–${answer.maximum})`;
  return inputHtml(answer.id, limits, "number", answer.minimum, answer.maximum, true);
}

function questionHtml(question) {
  if (question.form === "several") {
    const box = (option) =>
      `<label><input type="checkbox" name="${escaped(`${question.id}_${option.value}`)}" value="yes"> ` +
      `${escaped(option.label)}</label> `;
    return `<fieldset><legend>${escaped(question.label)}</legend>${question.options.map(box).join("")}</fieldset>`;
  }
  if (question.form === "options") {
    return optionsHtml(question.id, question.label, question.options, question.required);
  }
  const { id, label, form, minimum, maximum, required } = question;
  return inputHtml(id, label, form, minimum, maximum, required);
}

// The slot that the address names, else the first that JATOS has not given out, else one at random.
async function chosenSlot(study, parameters, hosted) {
  const wanted = parameters.get("slot");
  if (wanted !== null) {
    return study.slots.find((slot, place) => slot.name === wanted || String(place + 1) === wanted);
  }
  if (!hosted) {
    return study.slots[Math.floor(Math.random() * study.slots.length)];
  }
  for (let tries = 0; tries < TRIES; tries += 1) {
    const free = study.slots.find((slot) => !jatos.batchSession.defined(`/slot_${slot.name}`));
    if (free === undefined) {
      return null;
    }
    try {
      await jatos.batchSession.set(`slot_${free.name}`, String(jatos.studyResultId));
      return free;
    } catch (conflict) {
      // Somebody else was given a slot at the same time.
      await new Promise((done) => setTimeout(done, 50 + 200 * Math.random()));
    }
  }
  return null;
}

// Let JATOS give out a slot again.
async function returnSlot(slot) {
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      await jatos.batchSession.remove(`/slot_${slot.name}`);
      return;
    } catch (conflict) {
      // Something else in the session was changed at the same time.
      await new Promise((done) => setTimeout(done, 50 + 200 * Math.random()));
    }
  }
}

function endHtml(study, ended) {
  const end = study.ends[ended];
  let html = `<h1>${escaped(end.title)}</h1><p>${escaped(end.text)}</p>`;
  if (end.code) {
    html += `<p>${escaped(study.words.code)}: <strong id="code">${escaped(end.code)}</strong></p>`;
  }
  if (end.redirect) {
    html += `<p><a href="${escaped(end.redirect)}">${escaped(study.words.redirect)}</a></p>`;
  }
  return html;
}

async function run(parameters, hosted) {
  const study = await (await fetch("study.json")).json();
  const words = study.words;
  if (typeof initJsPsych === "undefined") {
    show("<p>jsPsych is missing: run <code>npm install</code> in this folder.</p>");
    return;
  }
  if (study.required && !parameters.get(study.person)) {
    show(endHtml(study, "no_person"));
    return;
  }
  const smallest = study.smallest;
  if (smallest !== null && (screen.width < smallest.width || screen.height < smallest.height)) {
    show(endHtml(study, "small_screen"));
    return;
  }
  const slot = await chosenSlot(study, parameters, hosted);
  if (slot === null || slot === undefined) {
    show(endHtml(study, "full"));
    return;
  }

  let ended = "finished";
  let failed = 0;
  let focusLost = 0;
  window.addEventListener("blur", () => (focusLost += 1));
  const jsPsych = initJsPsych({
    show_progress_bar: true,
    message_progress_bar: "",
    on_trial_start: () => (focusLost = 0),
    on_data_update: (data) => {
      if (hosted && ended !== "withdrawn") {
        jatos.appendResultData(`${JSON.stringify(data)}\n`);
      }
    },
    on_finish: finish,
  });
  const visit = jsPsych.randomization.randomID(16);
  const sent = Object.fromEntries(study.parameters.map((name) => [name, parameters.get(name)]));
  jsPsych.data.addProperties({
    ...sent,
    conjury_plan: study.plan,
    slot: slot.name,
    visit,
    started: new Date().toISOString(),
  });

  function stop(reason) {
    ended = reason;
    jsPsych.abortExperiment();
  }

  async function finish() {
    const end = study.ends[ended];
    if (hosted && ended !== "finished" && parameters.get("slot") === null) {
      await returnSlot(slot);
    }
    if (hosted && ended === "withdrawn") {
      await jatos.submitResultData(""); // in place of all answers that were sent
    }
    if (hosted && end.redirect) {
      await jatos.endStudyAndRedirect(end.redirect);
      return;
    }
    if (hosted) {
      await jatos.endStudyAjax();
    } else if (ended !== "declined" && ended !== "withdrawn") {
      jsPsych.data.get().localSave("json", `${study.name}_${slot.name}_${visit}.json`);
    }
    show(endHtml(study, ended));
  }

  function noted(data, answers) {
    data.answers = answers;
    data.focus_lost = focusLost;
    data.time = new Date().toISOString();
  }

  function form(html, data, done = () => {}) {
    return {
      type: jsPsychSurveyHtmlForm,
      html,
      button_label: words.continue,
      data,
      on_finish: (given) => {
        noted(given, given.response);
        done(given.response);
      },
    };
  }

  function text(title, html, choices, data, done = () => {}) {
    return {
      type: jsPsychHtmlButtonResponse,
      stimulus: (html.includes("<h1>") ? "" : `<h1>${escaped(title)}</h1>`) + html,
      choices: choices.map(escaped),
      data,
      on_finish: (given) => {
        noted(given, null);
        done(given.response);
      },
    };
  }

  const atHand =
    study.at_hand === null
      ? ""
      : `<details class="at-hand"><summary>${escaped(study.at_hand.title)}</summary>${study.at_hand.html}</details>`;

  // A pair with further questions is a form, since one button cannot answer several.
  function pairForm(task, data, note) {
    const labels = study.answers[0].options;
    const cards = task.subjects.map(
      (name, place) =>
        `<div class="card"><h2>${escaped(labels[place].label)}</h2>${shownHtml(study.shown[name])}</div>`
    );
    return form(`${note}${atHand}<div class="pair">${cards.join("")}</div>${study.answers.map(answerHtml).join("")}`, data);
  }

  function pair(task, data, note) {
    if (study.answers.length > 1) {
      return pairForm(task, data, note);
    }
    const labels = study.answers[0].options;
    const cards = task.subjects.map(
      (name, place) =>
        `<div class="card"><h2>${escaped(labels[place].label)}</h2>${shownHtml(study.shown[name])}</div>`
    );
    let press;
    return {
      type: jsPsychHtmlButtonResponse,
      stimulus: `${note}${atHand}<p>${escaped(study.question)}</p><div class="pair">${cards.join("")}</div>`,
      choices: labels.map((option) => escaped(option.label)),
      data,
      on_load: () => {
        const buttons = document.querySelectorAll("#jspsych-html-button-response-btngroup button");
        press = (event) => {
          const place = ["a", "b"].indexOf(event.key.toLowerCase());
          if (place >= 0 && !event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey) {
            buttons[place].click();
          }
        };
        document.addEventListener("keydown", press);
      },
      on_finish: (given) => {
        document.removeEventListener("keydown", press);
        noted(given, { choice: labels[given.response].value });
      },
    };
  }

  function item(task, data, note) {
    const shown = study.shown[task.subjects[0]];
    const answers = shown.answers || study.answers;
    const single = answers.length === 1 && answers[0].label === study.question;
    const question = single ? "" : `<p>${escaped(study.question)}</p>`;
    const card = `<div class="card">${shownHtml(shown)}</div>`;
    return form(`${note}${atHand}${card}${question}${answers.map(answerHtml).join("")}`, data);
  }

  function trial(task, number) {
    const practice = number === 0;
    const data = { part: practice ? "practice" : "task", task: number, name: task.name };
    data.subjects = task.subjects.join(" ");
    data.repeat_of = task.repeat_of;
    const note = practice ? `<p class="note">${escaped(words.practice)}</p>` : "";
    return task.subjects.length === 2 ? pair(task, data, note) : item(task, data, note);
  }

  function attention(check) {
    const html = optionsHtml("answer", check.text, check.options, true);
    return form(html, { part: "attention", name: check.id }, (given) => {
      failed += given.answer === check.right ? 0 : 1;
      if (study.fail_limit !== null && failed >= study.fail_limit) {
        stop("failed_checks");
      }
    });
  }

  function questions(asked) {
    const html = `<h1>${escaped(words.questions)}</h1>${asked.map(questionHtml).join("")}`;
    return form(html, { part: "questions" }, (given) => {
      const chosen = (question, option) =>
        question.form === "several" ? given[`${question.id}_${option}`] : given[question.id] === option;
      if (asked.some((question) => question.screen_out.some((option) => chosen(question, option)))) {
        stop("screened_out");
      }
    });
  }

  // Questions about the instructions, with the instructions before each attempt.
  function instructions() {
    const data = { part: "instructions" };
    const page = text(words.instructions, study.instructions, [words.continue], data);
    if (study.comprehension === null) {
      return page;
    }
    let attempt = 0;
    let right = false;
    const asked = study.comprehension.questions;
    const again = `<p class="note">${escaped(words.again)}</p>`;
    const repeated = {
      ...page,
      stimulus: () => (attempt > 0 ? again : "") + page.stimulus,
    };
    const html = asked.map((one) => optionsHtml(one.id, one.text, one.options, true)).join("");
    const questionsPage = form(
      `<h1>${escaped(words.comprehension)}</h1>${html}`,
      { part: "comprehension" },
      (given) => {
        attempt += 1;
        right = asked.every((one) => given[one.id] === one.right);
        if (!right && attempt >= study.comprehension.attempts) {
          stop("failed_comprehension");
        }
      }
    );
    return { timeline: [repeated, questionsPage], loop_function: () => !right };
  }

  const all = slot.practice ? [slot.practice, ...slot.tasks] : slot.tasks;
  const seen = [...new Set(all.flatMap((task) => task.subjects))].map((name) => study.shown[name]);
  const media = (kind) => seen.filter((one) => one.kind === kind).map((one) => `media/${one.media}`);
  const timeline = [];
  if (study.consent) {
    const choices = [words.agree, words.decline];
    const data = { part: "consent" };
    timeline.push(
      text(words.consent, study.consent, choices, data, (given) => given === 1 && stop("declined"))
    );
  }
  timeline.push({
    type: jsPsychPreload,
    images: media("image"),
    video: media("video"),
    message: `<p>${escaped(words.loading)}</p>`,
    error_message: `<p>${escaped(words.failed)}</p>`,
    data: { part: "preload" },
  });
  if (study.instructions) {
    timeline.push(instructions());
  }
  if (study.first_questions.length > 0) {
    timeline.push(questions(study.first_questions));
  }
  if (slot.practice) {
    timeline.push(trial(slot.practice, 0));
  }
  study.attention.filter((check) => check.after === 0).forEach((check) => timeline.push(attention(check)));
  slot.tasks.forEach((task, place) => {
    timeline.push(trial(task, place + 1));
    const last = place + 1 === slot.tasks.length;
    study.attention
      .filter((check) => check.after === place + 1 || (last && check.after > place + 1))
      .forEach((check) => timeline.push(attention(check)));
  });
  if (study.last_questions.length > 0) {
    timeline.push(questions(study.last_questions));
  }
  if (study.debriefing) {
    const choices = study.withdrawal ? [words.submit, words.withdraw] : [words.continue];
    const data = { part: "debriefing" };
    timeline.push(
      text(words.debriefing, study.debriefing, choices, data, (given) => given === 1 && stop("withdrawn"))
    );
  }
  await jsPsych.run(timeline);
}

if (typeof jatos === "undefined") {
  run(new URLSearchParams(window.location.search), false);
} else {
  jatos.onLoad(() => run(new URLSearchParams(jatos.urlQueryParameters), true));
}
