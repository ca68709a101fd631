// Questions to the daemon, with the token that lets this tab ask.

const KEY = "completiond-token";

/** An answer that is none: `message` says what is wrong and what to do. */
export class ApiError extends Error {
  constructor(status, message, advice = "") {
    super(advice ? `${message} ${advice}` : message);
    this.status = status;
  }
}

/** Keep the token that came behind the address's #, and take it out of the address bar. True if there was one. */
export function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return false;
  keepToken(token);
  history.replaceState(null, "", location.pathname);
  return true;
}

/** Keep it for as long as this tab is open. */
export const keepToken = (token) => sessionStorage.setItem(KEY, token.trim());

/** What GET answers. Throws ApiError. */
export async function get(path, signal) {
  const response = await ask(path, { signal, cache: "no-store" });
  return response.json();
}

/** POST to a daemon that this page is about to leave: nothing is waited for, and nobody is there to be told of a failure. */
export function tell(path, body) {
  ask(path, { method: "POST", body: JSON.stringify(body), keepalive: true }).catch(() => {});
}

/** POST, and yield the events of the answer as they come. Throws ApiError; AbortError when `signal` says so. */
export async function* events(path, body, signal) {
  const response = await ask(path, { method: "POST", body: JSON.stringify(body), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (held + value).split("\n\n");
      held = parts.pop();
      for (const part of parts) yield checked(JSON.parse(part.slice("data: ".length)));
    }
  } catch (error) {
    throw error instanceof TypeError ? gone() : error;
  } finally {
    reader.cancel().catch(() => {}); // who stops to read has the daemon stop to write
  }
}

async function ask(path, options) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}`, "Content-Type": "application/json" };
  let response;
  try {
    response = await fetch(path, { ...options, headers, credentials: "omit", redirect: "error" });
  } catch (error) {
    throw error instanceof TypeError ? gone() : error;
  }
  if (response.status === 401) {
    const advice = "Run `completiond page` in a terminal and open the address it prints, or enter what `completiond token` prints.";
    throw new ApiError(401, sessionStorage.getItem(KEY) ? "The token is wrong." : "The page has no token.", advice);
  }
  if (!response.ok) checked(await response.json().catch(() => ({ error: { code: response.status, message: response.statusText } })));
  return response;
}

function checked(value) {
  if (value.error) throw new ApiError(value.error.code, value.error.message, value.error.advice);
  return value;
}

const gone = () => new ApiError(0, "The daemon does not answer.", "It may have ended; `completiond page` starts it and prints the address.");
