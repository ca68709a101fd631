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
---@return boolean? is_all Whether nothing more of it is to come, here or behind closers that a plugin has inserted.
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
    return rest, self.is_whole
  end
  local closers = vim.endswith(behind, right) and behind:sub(1, #behind - #right) or ''
  if not closers:match('^[%)%]}>"\'`]+$') then
    return nil
  end
  return M.before_closers(rest, closers, self.is_whole)
end

---@param text string
---@param at integer
---@param quote string
---@return integer?
local function end_of_string(text, at, quote)
  while at <= #text and text:sub(at, at) ~= quote do
    at = at + (text:sub(at, at) == '\\' and 2 or 1)
  end
  return at <= #text and at or nil
end

--- Where a text closes what was opened before it, by whatever closer. The daemon's own: complete/closers.py.
---@param text string
---@param like string The closer that is expected: a quote means that the text begins inside a string.
---@return integer?
local function first_closer(text, like)
  if like:match('["\'`]') then
    return end_of_string(text, 1, like)
  end
  local depth, at = 0, 1
  while at <= #text do
    local char = text:sub(at, at)
    local stop = char:match('["\'`]') and end_of_string(text, at + 1, char)
    if stop and not text:sub(at, stop):find('\n', 1, true) then
      at = stop -- else it is an apostrophe
    elseif char:match('[%(%[{]') or (like == '>' and char == '<') then
      depth = depth + 1
    elseif char:match('[%)%]}]') or (like == '>' and char == '>') then
      if depth == 0 then
        return at
      end
      depth = depth - 1
    end
    at = at + 1
  end
  return nil
end

--- What of a text goes in front of closers that a plugin has inserted while their openers were typed; nil if it closes
--- something else. Where they are the end of its only line, all but them; else up to the first of them: what follows is
--- shown when that is typed.
---@param text string
---@param closers string
---@param is_whole boolean Else the closers may be still to come.
---@return string?
---@return boolean? is_all
function M.before_closers(text, closers, is_whole)
  local is_line = not text:find('\n', 1, true)
  if is_whole and is_line and vim.endswith(text, closers) then
    return text:sub(1, -1 - #closers), true
  end
  local stop = first_closer(text, closers:sub(1, 1))
  if stop then
    text = text:sub(stop, stop) == closers:sub(1, 1) and text:sub(1, stop - 1) or nil
  elseif is_whole then
    text = nil
  end
  -- Further lines would be drawn below the closers.
  if text and not text:find('\n', 1, true) then
    return text, false
  end
  return nil
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
