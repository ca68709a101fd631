--- Our own ghost text: what is asked for at the cursor of insert mode, what is shown there, and what is taken of it.
---
--- There is one of both at most, since there is one cursor. Whatever comes late, or for another place, is recognised by
--- the text around the cursor (suggestion.lua), never by a position alone.
local ghost = require('completiond.ghost')
local server = require('completiond.server')
local state = require('completiond.state')
local suggestion = require('completiond.suggestion')

local api = vim.api
local M = {}

local INVOKED, AUTOMATIC = 1, 2 -- LSP 3.18 "InlineCompletionTriggerKind"
local MAX_AGAIN = 3 -- Each for a server that has come to be ready anew.
local marks = api.nvim_create_namespace('completiond.marks')

---@class completiond.Call A request whose answer is waited for.
---@field client vim.lsp.Client
---@field id? integer
---@field buf integer
---@field mark integer An extmark, which keeps the line when others come and go above.
---@field place completiond.Place
---@field params lsp.TextDocumentPositionParams
---@field version? integer
---@field step integer Where to go in the list of alternatives; 0 if none were asked for.

---@class completiond.Shown
---@field call completiond.Call
---@field list completiond.Suggestion[]
---@field index integer
---@field is_dismissed boolean

local pending ---@type completiond.Call?
local shown ---@type completiond.Shown?
local drawn_in ---@type integer? The buffer that has ghost text.
---@type { buf: integer?, tick: integer?, row: integer?, column: integer? }
local seen = {} -- Empty when insert mode begins, which counts as a change.
---@type { buf: integer, tick: integer, row: integer, column: integer, num_again: integer }?
local asked -- The text and the place that were asked for last, in this insert mode.

---@return integer row From 0.
---@return integer column In bytes.
local function cursor()
  local at = api.nvim_win_get_cursor(0)
  return at[1] - 1, at[2]
end

local function is_inserting()
  return vim.startswith(api.nvim_get_mode().mode, 'i')
end

local function hide()
  if drawn_in then
    ghost.hide(drawn_in)
    drawn_in = nil
  end
end

---@param call completiond.Call
local function forget(call)
  if api.nvim_buf_is_valid(call.buf) then
    api.nvim_buf_del_extmark(call.buf, marks, call.mark)
  end
end

local function drop_shown()
  hide()
  if shown and shown.call ~= pending then
    forget(shown.call)
  end
  shown = nil
end

---@param is_superseded boolean The server finds out by itself, and goes on with what still fits.
local function drop_pending(is_superseded)
  local call = pending
  pending = nil
  if not call then
    return
  end
  if not is_superseded and call.id then
    server.cancel(call.client, call.id)
  end
  if not shown or shown.call ~= call then
    forget(call)
  end
  state.set_busy(false)
end

--- What is left at the cursor of what is shown; nil if it does not fit there.
---@return string?
---@return boolean? is_all Whether nothing more of it is to come.
local function rest()
  local buf = api.nvim_get_current_buf()
  if not shown or buf ~= shown.call.buf then
    return nil
  end
  local mark = api.nvim_buf_get_extmark_by_id(buf, marks, shown.call.mark, {})
  local row, column = cursor()
  if not mark[1] or mark[1] > row then
    return nil
  end
  local lines = api.nvim_buf_get_lines(buf, mark[1], row + 1, false)
  return shown.list[shown.index]:rest(lines, column)
end

--- Whether the menu of other completions has an entry selected, whose text comes and goes.
local function is_menu_in_use()
  return vim.fn.pumvisible() == 1 and vim.fn.complete_info({ 'selected' }).selected >= 0
end

--- Bring what is drawn up to date. Returns what is left of the suggestion, nil if there is none at the cursor.
---@return string?
---@return boolean? is_all Whether nothing more of it is to come.
local function draw()
  local left, is_all = rest()
  if not shown or not left or left == '' or shown.is_dismissed or is_menu_in_use() then
    hide()
    return left, is_all
  end
  local row, column = cursor()
  local hint = #shown.list > 1 and ('%d/%d'):format(shown.index, #shown.list) or nil
  ghost.show(shown.call.buf, row, column, left, hint)
  drawn_in = shown.call.buf
  return left, is_all
end

---@param call completiond.Call
---@param texts string[] The first may be the beginning of it only.
---@param is_whole boolean
local function receive(call, texts, is_whole)
  if shown and shown.call == call then
    if texts[1] then
      shown.list[1]:grow(texts[1], is_whole)
    end
    shown.list[1].is_whole = is_whole
  else
    if #texts == 0 or (shown and not is_whole) then
      return -- what is shown stays until all alternatives are there
    end
    local is_first = not shown or shown.is_dismissed
    drop_shown()
    shown = { call = call, list = {}, index = 1, is_dismissed = false }
    for number, text in ipairs(texts) do
      shown.list[number] = suggestion.new(call.place, text, is_whole)
    end
    if not is_first then
      shown.index = 1 + call.step % #texts
    end
  end
  for number = #shown.list + 1, #texts do
    shown.list[number] = suggestion.new(call.place, texts[number], is_whole)
  end
  if not draw() then
    drop_shown()
  end
end

---@param call completiond.Call
---@param result any
local function texts_of(call, result)
  local texts, at = {}, call.params.position
  for _, item in ipairs(result and (result.items or result) or {}) do
    local range = item.range or { start = at, ['end'] = at }
    local text = type(item.insertText) == 'string' and suggestion.normalise(item.insertText) or ''
    if text ~= '' and vim.deep_equal(range, { start = at, ['end'] = at }) then
      texts[#texts + 1] = text
    end
  end
  return texts
end

--- Whether a text and place may be asked for. Without an edit nobody but the user asks twice, and a server that is
--- ready again, some times: whatever is answered, there can be no loop.
---@param buf integer
---@param is_anew boolean The server has come to be ready.
---@return boolean
local function may_ask(buf, is_anew)
  local tick, row, column = api.nvim_buf_get_changedtick(buf), cursor()
  local is_same = asked
    and asked.buf == buf
    and asked.tick == tick
    and asked.row == row
    and asked.column == column
  local num_again = is_same and asked.num_again + 1 or 0
  if is_same and (not is_anew or num_again > MAX_AGAIN) then
    return false
  end
  asked = { buf = buf, tick = tick, row = row, column = column, num_again = num_again }
  return true
end

--- Ask for a suggestion at the cursor; with a step, for alternatives, and for the one so far behind what is shown.
---@param step integer
---@param is_anew? boolean The server has come to be ready.
local function ask(step, is_anew)
  local buf = api.nvim_get_current_buf()
  local client = server.client(buf)
  if not client or not state.is_on_in(buf) then
    return
  end
  if step ~= 0 then
    asked = nil
  end
  if not may_ask(buf, is_anew == true) then
    return
  end
  drop_pending(true)
  local row, column = cursor()
  local line = api.nvim_get_current_line()
  local position = vim.lsp.util.make_position_params(0, client.offset_encoding).position
  local params = { textDocument = { uri = server.document(buf) }, position = position }
  ---@type completiond.Call
  local call = {
    client = client,
    buf = buf,
    mark = api.nvim_buf_set_extmark(buf, marks, row, column, { right_gravity = false }),
    place = { left = line:sub(1, column), right = line:sub(column + 1) },
    params = params,
    step = step,
  }
  pending = call
  local context = { triggerKind = step == 0 and AUTOMATIC or INVOKED }
  local wire_params = vim.tbl_extend('error', params, { context = context })
  call.id = server.request(client, 'textDocument/inlineCompletion', wire_params, function(result)
    if pending ~= call then
      return
    end
    -- An error, too, leaves what has come by now: each beginning is as good as the end.
    receive(call, texts_of(call, result), true)
    drop_pending(true)
    local left, is_all = rest()
    if result == nil then -- the daemon has ended: there is going to be another
      server.ask_how_it_is(client)
    elseif left == '' and is_all then -- all of it was typed meanwhile
      drop_shown()
      ask(0)
    end
  end, buf)
  call.version = select(2, server.document(buf))
  if call.id then
    state.set_busy(true)
  else
    drop_pending(true)
  end
end

--- A notification: the beginning of what is being written.
---@param params { textDocument: { uri: string, version: integer }, position: lsp.Position, insertText: string }
function M.on_partial(params)
  local call = pending
  if
    call
    and params.textDocument.uri == call.params.textDocument.uri
    and params.textDocument.version == call.version
    and vim.deep_equal(params.position, call.params.position)
    and is_inserting()
  then
    local text = suggestion.normalise(params.insertText)
    if text ~= '' then
      receive(call, { text }, false)
    end
  end
end

--- The text or the cursor may have changed; called for both, and more than once for a key perhaps.
function M.on_change()
  if not is_inserting() then
    return drop_shown()
  end
  local buf = api.nvim_get_current_buf()
  local tick = api.nvim_buf_get_changedtick(buf)
  local row, column = cursor()
  local is_edit = seen.buf ~= buf or seen.tick ~= tick
  if not is_edit and seen.row == row and seen.column == column then
    return
  end
  seen = { buf = buf, tick = tick, row = row, column = column }
  if shown then
    local left, is_all = draw()
    if left and (left ~= '' or not is_all) then
      return
    end
    drop_shown()
  end
  if is_edit and vim.fn.reg_executing() == '' then
    ask(0)
  end
end

--- Insert mode or its window is left.
function M.leave()
  drop_pending(false)
  drop_shown()
  seen = {}
  asked = nil
end

--- The server has come to be ready, in the middle of typing perhaps.
function M.on_ready()
  if is_inserting() and not shown and vim.fn.reg_executing() == '' then
    ask(0, true)
  end
end

--- Whether there is ghost text at the cursor.
---@return boolean
function M.is_visible()
  return drawn_in ~= nil and drawn_in == api.nvim_get_current_buf() and (rest() or '') ~= ''
end

--- Insert what is left of the suggestion, or the beginning of it. For `accept()`, which makes it one undo step.
---@param part fun(text: string): string
function M.insert(part)
  local text = M.is_visible() and rest()
  if not text then
    return
  end
  local row, column = cursor()
  local lines = vim.split(part(text), '\n', { plain = true })
  hide()
  api.nvim_buf_set_text(0, row, column, row, column, lines)
  api.nvim_win_set_cursor(0, { row + #lines, #lines[#lines] + (#lines == 1 and column or 0) })
  M.on_change()
end

--- Show the next alternative, or the one before; the first time that asks for them.
---@param step 1|-1
function M.cycle(step)
  if not is_inserting() then
    return
  end
  if shown and #shown.list > 1 and not shown.is_dismissed then
    shown.index = 1 + (shown.index - 1 + step) % #shown.list
    if draw() then
      return
    end
    drop_shown()
  end
  ask(step)
end

--- Take away what is shown, and leave it away while it is typed along.
function M.dismiss()
  drop_pending(false)
  if shown then
    shown.is_dismissed = true
    shown.list[shown.index].is_whole = true
  end
  hide()
end

return M
