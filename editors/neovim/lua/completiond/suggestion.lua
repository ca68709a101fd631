--- A suggestion and the place it was made for. Pure text: no buffer is looked at here.
---
--- It fits as long as its line reads `left .. typed .. right` and its text begins with `typed`: what is typed along
--- consumes it, and it never changes meanwhile but grows.

---@class completiond.Place
---@field left string The line before the cursor, when it was asked for.
---@field right string The line behind it.

---@class completiond.Suggestion
---@field place completiond.Place
---@field text string All of it, with \n between lines.
---@field is_whole boolean Whether nothing more is to come.
local Suggestion = {}
Suggestion.__index = Suggestion

local M = {}

---@param text string As a server sends it.
---@return string
function M.normalise(text)
  return (text:gsub('\r\n', '\n'):gsub('\r$', ''))
end

---@param place completiond.Place
---@param text string
---@param is_whole boolean
---@return completiond.Suggestion
function M.new(place, text, is_whole)
  return setmetatable({ place = place, text = text, is_whole = is_whole }, Suggestion)
end

--- Take what is known of the text by now. It is not taken if it is not a continuation of what is shown.
---@param text string
---@param is_whole boolean
function Suggestion:grow(text, is_whole)
  if vim.startswith(text, self.text) then
    self.text = text
  end
  self.is_whole = is_whole
end

--- What is left of it on a line with the cursor at a column; nil if it does not fit there any more.
---@param lines string[] From the line it was made for to that of the cursor.
---@param column integer In bytes.
---@return string?
function Suggestion:rest(lines, column)
  local left, right = self.place.left, self.place.right
  local behind = lines[#lines]:sub(column + 1)
  local before = vim.list_extend({}, lines)
  before[#before] = before[#before]:sub(1, column)
  local text = table.concat(before, '\n')
  if not vim.startswith(text, left) then
    return nil
  end
  local typed = text:sub(#left + 1)
  if not vim.startswith(self.text, typed) then
    return nil
  end
  local rest = self.text:sub(#typed + 1)
  if behind == right then
    return rest
  end
  return self.is_whole and M.without_closers(rest, behind, right) or nil
end

--- What is left of a text whose closers a plugin has inserted while its openers were typed.
---@param rest string
---@param behind string The line behind the cursor.
---@param right string What it was before.
---@return string?
function M.without_closers(rest, behind, right)
  local closers = vim.endswith(behind, right) and behind:sub(1, #behind - #right) or ''
  if not closers:match('^[%)%]}>"\'`]+$') or not vim.endswith(rest, closers) then
    return nil
  end
  rest = rest:sub(1, #rest - #closers)
  return not rest:find('\n') and rest or nil
end

--- The beginning of a text up to the end of its next word, as 'iskeyword' of the current buffer has them.
---@param text string
---@return string
function M.word(text)
  return vim.fn.matchstr(text, [[^\_s*\%(\k\+\|\%(\k\@!\S\)\+\)\?]])
end

--- The beginning of a text up to the end of its line; of one that begins with the end of a line, the next line.
---@param text string
---@return string
function M.line(text)
  local last = text:find('\n', 2, true)
  return last and text:sub(1, last - 1) or text
end

return M
