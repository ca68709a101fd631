// How the daemon is, in words: what `completiond status` and `status --why` print.

import { byId, make } from "/page/dom.js";
import { nameOf } from "/page/sources.js";

const GIVEN_UP = ["superseded", "cancelled"]; // as someone typed on

/** Show what /api/status says. */
export function showStatus(status) {
  const isLoading = status.phase === "loading";
  const phase = phaseOf(status);
  if (byId("phase").textContent !== phase) byId("phase").textContent = phase; // else it is read out again
  byId("progress").hidden = !isLoading;
  byId("progress").value = status.progress;
  const rows = Object.entries(rowsOf(status)).filter(([, text]) => text);
  byId("status").replaceChildren(...rows.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
  const silent = status.recent.filter((one) => one.characters === 0 && !GIVEN_UP.includes(one.reason));
  const items = silent.map((one) => make("li", {}, `${placeOf(one)} · `, make("code", {}, one.reason), one.meaning && ` ${one.meaning}`));
  byId("silent").replaceChildren(...(items.length ? items : [make("li", {}, "none")]));
}

/** Say that there is no answer to show; `error` is told in full elsewhere. */
export function showNoStatus(error) {
  byId("phase").textContent = error.status === 401 ? "not told without the token" : "no answer from the daemon";
  byId("progress").hidden = true;
}

function phaseOf({ phase, progress, detail, model }) {
  if (phase === "loading") return `${model}: loading, ${(100 * progress).toFixed(0)} % (${detail})`;
  return phase === "ready" ? `${model}: ready` : `${model}: ${detail || phase}`;
}

function rowsOf(status) {
  const { counters, dictionary, accepts } = status;
  const excluded = dictionary.excluded_documents ? `; ${dictionary.excluded_documents} more excluded` : "";
  return {
    state: status.phase,
    model: status.model,
    device: [status.device, status.dtype].filter(Boolean).join(" "),
    "drafter set": status.drafter,
    "drafts so far": draftsOf(status.acceptance),
    memory: `${status.rss_mb.toFixed(0)} MB`,
    "given up": status.given_up.join("; "),
    editors: String(status.clients),
    requests: `${counters.requests}: ${counters.answered} answered, ${counters.empty} empty, ${counters.superseded + counters.cancelled} given up; ${counters.cached} kept answers`,
    taken: accepts.answers ? `${accepts.answers} answers, ${accepts.whole} of them whole` : "",
    "open files": `${dictionary.documents}, ${dictionary.tokens} tokens${excluded}`,
    settings: status.problems.join("; "),
    "up for": duration(status.uptime_s),
    version: `${status.version}, process ${status.pid}`,
  };
}

function draftsOf(acceptance) {
  const sums = new Map();
  for (const { source, tried, accepted } of acceptance) {
    const [all, right] = sums.get(source) ?? [0, 0];
    sums.set(source, [all + sumOf(tried), right + sumOf(accepted)]);
  }
  return [...sums].map(([source, [all, right]]) => `${nameOf(source)} ${right} of ${all} checked guesses`).join(", ");
}

function placeOf(one) {
  return [`${duration(one.ago_s)} ago`, one.client || "a program", `${one.document || "no name"} ${one.line}:${one.column}`].join(" · ");
}

function duration(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

const sumOf = (counts) => counts.reduce((sum, count) => sum + count, 0);
