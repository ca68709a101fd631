// What the status bar says.

/** What is known of the server. */
export type Condition =
  | { readonly kind: "waiting" }
  | { readonly kind: "starting" }
  | { readonly kind: "loading"; readonly percent: number; readonly detail: string }
  | { readonly kind: "ready"; readonly detail: string }
  | { readonly kind: "error"; readonly reason: string };

/** The item: its text with icons, its tooltip, and whether it is marked as an error. */
export interface Item {
  readonly text: string;
  readonly tooltip: string;
  readonly isError: boolean;
}

/** `notAsked`: why nothing is asked for the document that is edited; empty: it is. */
export function itemFor(condition: Condition, isBusy: boolean, notAsked: string): Item {
  switch (condition.kind) {
    case "error":
      return { text: "$(error) completiond", tooltip: condition.reason, isError: true };
    case "starting":
      return { text: "$(loading~spin) completiond", tooltip: "The language server is starting.", isError: false };
    case "loading":
      return {
        text: `$(loading~spin) completiond ${condition.percent} %`,
        tooltip: `Loading the model: ${condition.detail}`,
        isError: false,
      };
    case "waiting":
    case "ready": {
      if (notAsked !== "") {
        return { text: "$(circle-slash) completiond", tooltip: notAsked, isError: false };
      }
      const tooltip = condition.kind === "ready" ? condition.detail : "It starts with the first file that is opened.";
      return { text: isBusy ? "$(loading~spin) completiond" : "$(sparkle) completiond", tooltip, isError: false };
    }
  }
}
