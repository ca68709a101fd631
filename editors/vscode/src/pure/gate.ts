// Whether the server is asked at all for a document.

/** What the user has turned off. */
export interface Switches {
  readonly enabled: boolean;
  readonly disabledLanguages: readonly string[];
  readonly disabledFiles: readonly string[];
}

/** Why nothing is asked for a document, in a sentence; empty: it is asked. */
export function whyNotAsked(switches: Switches, languageId: string, uri: string): string {
  if (!switches.enabled) {
    return "Suggestions are turned off; the command “completiond: Turn suggestions on or off” turns them on.";
  }
  if (switches.disabledLanguages.includes(languageId)) {
    return `Suggestions are turned off for ${languageId}, by the setting completiond.completion.disabled_languages.`;
  }
  if (switches.disabledFiles.includes(uri)) {
    return "Suggestions are turned off in this file; the command “completiond: Turn on or off in this file” turns them on.";
  }
  return "";
}

/** The list without `one`, or with it, if it was not there. */
export function toggled(list: readonly string[], one: string): string[] {
  return list.includes(one) ? list.filter((other) => other !== one) : [...list, one];
}
