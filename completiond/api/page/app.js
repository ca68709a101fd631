// Puts the page together.

import { textOf } from "/page/answer.js";
import { ApiError, events, get, keepToken, takeToken, tell } from "/page/api.js";
import { Charts } from "/page/charts.js";
import { byId, make } from "/page/dom.js";
import { Editor } from "/page/editor.js";
import { explained, figuresOf } from "/page/explain.js";
import { SOURCES, coloured, nameOf } from "/page/sources.js";
import { showNoStatus, showStatus } from "/page/status.js";
import { followTheme } from "/page/theme.js";

const LOOK_MS = 2000;
const LOADING_LOOK_MS = 500;

const page = crypto.randomUUID();
let path = byId("path").value;
let timer = 0;
let isLooking = false;
let isStale = false; // something has happened since the question that is on its way

takeToken();
followTheme(byId("theme"));
const charts = new Charts(byId("charts"));
const legend = new Map(SOURCES.map((source) => [source, make("li", {}, coloured({ text: nameOf(source), source }))]));
byId("legend").append(...legend.values());

const editor = new Editor(byId("text"), byId("overlay"), {
  ask: (question, signal) => events("/api/complete", { page, path, ...question }, signal),
  shown(spans, answer) {
    for (const name of ["accept", "previous", "next"]) byId(name).disabled = !spans.length;
    const used = new Set(spans.map((span) => span.source));
    for (const [source, item] of legend) item.classList.toggle("used", used.has(source));
    if (answer?.choices.length > 1) byId("which").textContent = `${answer.choice + 1} of ${answer.choices.length}`;
    else if (!spans.length) byId("which").textContent = "";
    if (answer?.completions[answer.choice]) byId("told").textContent = `Suggestion: ${textOf(spans)}`;
    else if (!spans.length) byId("told").textContent = "";
  },
  answered({ completion, meaning }, isExplained) {
    problem("");
    byId("figures").textContent = completion.text ? figuresOf(completion) : `Nothing to show: ${meaning || completion.stop_reason}`;
    if (isExplained) byId("passes").replaceChildren(explained(completion));
    look();
  },
  failed: (error) => failed(error),
  looking(text) {
    byId("which").textContent = text;
    if (text) byId("told").textContent = text;
  },
});

byId("accept").addEventListener("click", () => editor.accept());
byId("explain").addEventListener("click", () => editor.explain());
byId("next").addEventListener("click", () => editor.other(1));
byId("previous").addEventListener("click", () => editor.other(-1));
byId("path").addEventListener("change", () => {
  tell("/api/close", { page, path });
  path = byId("path").value;
  editor.anew();
});
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepToken(byId("token").value);
  byId("token").value = "";
  begin();
});
addEventListener("hashchange", () => { if (takeToken()) begin(); });
addEventListener("pagehide", () => tell("/api/close", { page, path }));
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
begin();

/** The token is new. */
function begin() {
  problem("");
  look();
  editor.anew();
}

/** Ask how the daemon is, and again after a while. */
async function look() {
  clearTimeout(timer);
  isStale = isLooking;
  if (isLooking || document.hidden) return;
  isLooking = true;
  let wait_ms = LOOK_MS;
  try {
    const status = await get("/api/status");
    showStatus(status);
    charts.update(status);
    if (byId("problem").dataset.status === "0") problem("");
    if (status.phase === "loading") wait_ms = LOADING_LOOK_MS;
    if (status.phase === "ready" && byId("problem").dataset.status === "503") editor.anew();
  } catch (error) {
    failed(error);
    showNoStatus(error);
    if (error.status === 401 && !isStale) return; // not again before there is another token
  } finally {
    isLooking = false;
  }
  timer = setTimeout(look, isStale ? 0 : wait_ms);
}

function failed(error) {
  if (error.name === "AbortError") return;
  if (!(error instanceof ApiError)) console.error(error);
  problem(error.message, error.status);
}

/** Say what is wrong; an empty text: nothing is. */
function problem(text, status = "") {
  byId("problem").hidden = !text;
  byId("problem").dataset.status = status;
  byId("problem-text").textContent = text;
  byId("token-form").hidden = status !== 401;
}
