--- Ghost text by completiond. See `:help completiond`.
local keys = require('completiond.keys')
local messages = require('completiond.messages')
local native = require('completiond.native')
local options = require('completiond.options')
local server = require('completiond.server')
local session = require('completiond.session')
local state = require('completiond.state')
local suggestion = require('completiond.suggestion')

local M = {}

local parts = {
  all = function(text)
    return text
  end,
  word = suggestion.word,
  line = suggestion.line,
}

--- For `accept()`: what its keys run.
---@param name 'all'|'word'|'line'
function M._insert(name)
  session.insert(parts[name])
end

---@param name 'all'|'word'|'line'
---@return boolean
local function accept(name)
  if not options.current.streaming then
    return native.accept(parts[name])
  end
  if not session.is_visible() then
    return false
  end
  -- CTRL-G u: what is accepted is an undo step of its own.
  local insert = ([[<C-g>u<Cmd>lua require('completiond')._insert('%s')<CR><C-g>u]]):format(name)
  vim.api.nvim_feedkeys(vim.keycode(insert), 'in', false)
  return true
end

--- Insert the ghost text. Returns false if there is none.
---@return boolean
function M.accept()
  return accept('all')
end

--- Insert its next word.
---@return boolean
function M.accept_word()
  return accept('word')
end

--- Insert it up to the end of its line.
---@return boolean
function M.accept_line()
  return accept('line')
end

---@param step 1|-1
---@return boolean
local function cycle(step)
  local engine = options.current.streaming and session or native
  engine.cycle(step)
  return true
end

--- Show the next alternative; the first time that asks for alternatives, and for ghost text where there is none.
---@return boolean
function M.next()
  return cycle(1)
end

--- Show the alternative before.
---@return boolean
function M.previous()
  return cycle(-1)
end

--- Take the ghost text away.
---@return boolean
function M.dismiss()
  local engine = options.current.streaming and session or native
  engine.dismiss()
  return true
end

--- Whether there is ghost text at the cursor. For mappings of your own, with streaming only.
---@return boolean
function M.is_visible()
  return session.is_visible()
end

--- Turn suggestions on or off, everywhere or in the current buffer only.
---@param scope? 'buffer'
---@param is_on? boolean The other way round by default.
function M.toggle(scope, is_on)
  local buf = vim.api.nvim_get_current_buf()
  if scope == 'buffer' then
    state.switch_in(buf, is_on == nil and vim.b[buf].completiond == false or is_on == true)
  else
    state.switch(is_on == nil and not state.is_on or is_on == true)
  end
  session.leave()
  if state.is_on_in(buf) then
    server.attach(buf)
  end
  if not options.current.streaming and native.is_there() then
    local filter = scope == 'buffer' and { bufnr = buf } or nil
    vim.lsp.inline_completion.enable(state.is_on_in(buf), filter)
  end
end

--- How completiond is, for the statusline.
---@return string
function M.status()
  return state.text()
end

--- The same in parts.
---@return { phase: string, percent: integer?, reason: string? }
function M.state()
  return state.get()
end

local function watch()
  local group = vim.api.nvim_create_augroup('completiond', {})
  local on = function(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, callback = callback })
  end
  on('FileType', function(event)
    server.attach(event.buf)
  end)
  on('VimLeavePre', server.leave)
  on('ColorScheme', require('completiond.ghost').define_highlights)
  on('InsertEnter', function(event)
    server.attach(event.buf)
  end)
  on('BufFilePre', function(event)
    server.detach(event.buf)
  end)
  on('BufFilePost', function(event)
    server.attach(event.buf)
  end)
  on({ 'BufUnload', 'BufWipeout' }, function(event)
    server.forget(event.buf)
  end)
  if not options.current.streaming then
    server.listeners.started = native.on_started
    return
  end
  server.listeners.partial = session.on_partial
  server.listeners.ready = session.on_ready
  on('InsertEnter', function()
    -- The cursor is not where it is going to be yet.
    vim.schedule(session.on_change)
  end)
  on({ 'TextChangedI', 'TextChangedP', 'CursorMovedI' }, function()
    session.on_change()
  end)
  on({ 'InsertLeave', 'WinLeave' }, session.leave)
end

--- Begin. May be called again with other options.
---@param opts? completiond.Options
function M.setup(opts)
  if vim.fn.has('nvim-0.10') == 0 then
    messages.once('Neovim 0.10 or newer is needed', vim.log.levels.ERROR)
    return
  end
  options.set(opts)
  if not options.current.streaming and not native.is_there() then
    messages.once(
      'this Neovim has no inline completion of its own (0.12 has); streaming = true is used'
    )
    options.current.streaming = true
  end
  require('completiond.ghost').define_highlights()
  watch()
  keys.set(options.current.keys, {
    accept = M.accept,
    accept_word = M.accept_word,
    accept_line = M.accept_line,
    next = M.next,
    previous = M.previous,
    dismiss = M.dismiss,
  })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buf].filetype ~= '' then
      server.attach(buf)
    end
  end
end

return M
