// Ranks results of the search: by Sphinx's scores, and before those by how many words of the query the title has.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: (result) => {
    const query = new URLSearchParams(window.location.search).get("q") || "";
    const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
    const title = (result[1] || "").toLowerCase();
    const hits = words.filter((word) => title.includes(word.replace(/(?<=..)s$/, "")));
    return result[4] + (words.length ? (100 * hits.length) / words.length : 0);
  },
};
