// The one edit that is made in the user's config.toml: the model's name. Comments and everything else stay.

const HEADER = /^\s*\[\s*model\s*\]\s*(#.*)?$/;
const ANY_HEADER = /^\s*\[/;
const NAME = /^(\s*name\s*=\s*)("[^"\\]*"|'[^']*')(\s*(?:#.*)?)$/;
const OTHER_FORMS = /^\s*("?model"?\s*\.|"?model"?\s*=|\[\s*(?:"model"|'model')\s*\])/;

/**
 * `text` with `model.name = name`, or undefined where the file is written in a way that this does not understand: then
 * the user has to edit it.
 */
export function withModelName(text: string, name: string): string | undefined {
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = text === "" ? [] : text.split(/\r?\n/);
  if (/"""|'''/.test(text) || lines.some((line) => OTHER_FORMS.test(line))) {
    return undefined;
  }
  const value = JSON.stringify(name); // a basic string of TOML
  const header = lines.findIndex((line) => HEADER.test(line));
  if (header < 0) {
    while (lines.length > 0 && lines[lines.length - 1]?.trim() === "") {
      lines.pop();
    }
    return [...lines, ...(lines.length > 0 ? [""] : []), "[model]", `name = ${value}`, ""].join(end);
  }
  for (let at = header + 1; at < lines.length && !ANY_HEADER.test(lines[at] ?? ""); at++) {
    const line = lines[at] ?? "";
    const match = NAME.exec(line);
    if (match !== null) {
      lines[at] = `${match[1] ?? ""}${value}${match[3] ?? ""}`;
      return lines.join(end);
    }
    if (/^\s*"?'?name/.test(line)) {
      return undefined;
    }
  }
  lines.splice(header + 1, 0, `name = ${value}`);
  return lines.join(end);
}
