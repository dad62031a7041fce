// A stand-in of JATOS, in which the first slot is taken and somebody takes the second at the same time.
const sent = [];
window.jatos = {
  studyResultId: 7,
  urlQueryParameters: Object.fromEntries(new URLSearchParams(location.search)),
  onLoad: (callback) => window.addEventListener("load", callback),
  appendResultData: (text) => { sent.push(text); return Promise.resolve(); },
  endStudyAjax: () => { document.documentElement.dataset.end = "ajax"; return Promise.resolve(); },
  endStudyAndRedirect: (url) => {
    document.documentElement.dataset.end = url;
    document.body.innerHTML = '<main id="end"></main>';
    return Promise.resolve();
  },
  batchSession: {
    taken: { slot_human_0001: "1" },
    tries: 0,
    defined(path) { return path.slice(1) in this.taken; },
    set(name, value) {
      this.tries += 1;
      if (this.tries === 1) {            // somebody else was faster
        this.taken[name] = "2";
        return Promise.reject(new Error("conflict"));
      }
      this.taken[name] = value;
      return Promise.resolve();
    },
    remove(path) {
      this.removed = (this.removed || 0) + 1;
      if (this.removed === 1) {
        return Promise.reject(new Error("conflict"));
      }
      delete this.taken[path.slice(1)];
      return Promise.resolve();
    },
  },
};
window.sent = sent;
