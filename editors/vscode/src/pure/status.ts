// What the server says of itself (`completiond/status`), the parts that are shown, and how.

export interface RecentRequest {
  readonly ago_s: number;
  readonly client: string;
  readonly document: string;
  readonly line: number;
  readonly column: number;
  readonly lines: number;
  readonly characters: number;
  readonly served_from: string;
  readonly took_ms: number;
  readonly reason: string;
  readonly meaning: string;
}

export interface Status {
  readonly phase: "loading" | "ready" | "failed";
  readonly progress: number;
  readonly detail: string;
  readonly model: string;
  readonly device: string;
  readonly dtype: string;
  readonly version: string;
  readonly pid: number;
  readonly uptime_s: number;
  readonly rss_mb: number;
  readonly clients: number;
  readonly problems: readonly string[];
  readonly given_up: readonly string[];
  readonly counters: Readonly<Record<string, number>>;
  readonly recent?: readonly RecentRequest[];
}

const WAYS: Readonly<Record<string, string>> = {
  engine: "written by the model",
  running: "from an answer on its way",
  cache: "from a kept answer",
};

/** The page of the command "Show status", as Markdown. */
export function statusPage(status: Status, program: string): string {
  const rows: [string, string][] = [
    ["State", status.detail === "" ? status.phase : `${status.phase}: ${status.detail}`],
    ["Model", status.model],
    ["Computed on", [status.device, status.dtype].filter(Boolean).join(", ")],
    ["Version", status.version],
    ["Program", program],
    ["Process", `${status.pid}, ${duration(status.uptime_s)}, ${status.rss_mb.toFixed(0)} MB`],
    ["Editors connected", `${status.clients}`],
    [
      "Requests",
      Object.entries(status.counters)
        .map(([name, count]) => `${count} ${name}`)
        .join(", "),
    ],
  ];
  const lines = ["# completiond", "", ...rows.map(([name, text]) => `- ${name}: ${text}`)];
  for (const [title, found] of [
    ["What is wrong with the settings", status.problems],
    ["What did not fit into memory", status.given_up],
  ] as const) {
    if (found.length > 0) {
      lines.push("", `## ${title}`, "", ...found.map((one) => `- ${one}`));
    }
  }
  if (status.recent !== undefined) {
    lines.push("", "## The last requests, newest first", "", ...requestLines(status.recent));
  }
  return [...lines, ""].join("\n");
}

/** What the command "Why is nothing suggested?" knows. */
export interface Question {
  /** The document's name, as the server abbreviates it: requests whose name ends a path like it count. */
  readonly file: string;
  /** Why this extension does not even ask; empty: it does. */
  readonly notAsked: string;
}

/** The page of the command "Why is nothing suggested?", as Markdown. */
export function whyPage(status: Status, question: Question): string {
  const { file, notAsked } = question;
  const lines = [`# Why is nothing suggested in ${baseName(file)}?`, ""];
  const requests = (status.recent ?? []).filter(
    (one) => one.document !== "" && (file === one.document || file.endsWith(`/${one.document}`)),
  );
  const [last] = requests;
  if (notAsked !== "") {
    lines.push(notAsked);
  } else if (status.phase !== "ready") {
    lines.push(`The model is not ready (${status.phase}): ${status.detail}`);
  } else if (last === undefined) {
    lines.push(
      "completiond was not asked for this file lately. VS Code asks while you type, if `editor.inlineSuggest.enabled` is on.",
    );
  } else if (last.characters > 0) {
    lines.push(`The last request was answered with ${count(last.characters, "character")}. ${last.meaning}`);
  } else {
    lines.push(`**${last.reason}**. ${last.meaning}`);
  }
  if (requests.length > 0) {
    lines.push("", "## The last requests for this file, newest first", "", ...requestLines(requests));
  }
  if (status.problems.length > 0) {
    lines.push("", "## What is wrong with the settings", "", ...status.problems.map((one) => `- ${one}`));
  }
  return [...lines, ""].join("\n");
}

function requestLines(requests: readonly RecentRequest[]): string[] {
  return requests.map((one) => {
    const parts = [
      `${duration(one.ago_s)} ago`,
      one.client === "" ? "command line or plugin" : one.client,
      `${one.document === "" ? "no name" : one.document} ${one.line}:${one.column}`,
      one.characters > 0 ? `${count(one.lines, "line")}, ${count(one.characters, "character")}` : "nothing",
      WAYS[one.served_from] ?? one.served_from,
      `${one.took_ms.toFixed(0)} ms`,
    ];
    const why = one.meaning === "" ? one.reason : `${one.reason}: ${one.meaning}`;
    return `- ${parts.filter(Boolean).join(" · ")}  \n  ${why}`;
  });
}

function count(number: number, noun: string): string {
  return number === 1 ? `1 ${noun}` : `${number} ${noun}s`;
}

function duration(seconds: number): string {
  if (seconds >= 3600) {
    return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  }
  return seconds >= 60 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds)} s`;
}

function baseName(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1);
}
