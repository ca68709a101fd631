--- Default keys. They take nothing from the user: a key that is mapped already keeps its mapping, and the key that
--- accepts hands on to the mapping it had before, or to Neovim, unless there is ghost text.
local M = {}

---@type table<string, string>
local taken = {}

---@class completiond.Mapping One of ours.
---@field lhs string
---@field callback fun()
---@field before table What was there, as maparg() has it; empty if nothing was.

---@type completiond.Mapping[]
local ours = {}

---@param keys string
---@return string
local function raw(keys)
  return vim.api.nvim_replace_termcodes(keys, true, true, true)
end

---@param keys string
---@param mode string
local function feed(keys, mode)
  vim.api.nvim_feedkeys(keys, mode, false)
end

--- A key that is not remapped, which by itself expands no abbreviation; CTRL-] does that for it. Not amid a
--- completion, where CTRL-] is something else.
---@param lhs string
---@return string
local function plain(lhs)
  local key = raw(lhs)
  local is_end_of_word = vim.fn.match(key, [[^\%(\t\|\r\|\k\@!\p\)$]]) == 0
  if is_end_of_word and vim.fn.complete_info({ 'mode' }).mode == '' then
    return raw('<C-]>') .. key
  end
  return key
end

--- Do what a mapping would have done.
---@param lhs string
---@param before table As maparg() has it; empty if there was none.
function M.fall_through(lhs, before)
  if vim.tbl_isempty(before) then
    return feed(plain(lhs), 'in')
  end
  local keys = before.rhs
  if before.callback then
    keys = before.callback()
    if before.expr ~= 1 or type(keys) ~= 'string' then
      return
    end
    keys = before.replace_keycodes == 1 and raw(keys) or keys
  elseif before.expr == 1 then
    local sid = ('<SNR>%d_'):format(before.sid or 0)
    keys = vim.api.nvim_eval((before.rhs:gsub('<[sS][iI][dD]>', sid)))
    keys = before.replace_keycodes == 1 and raw(keys) or keys
  else
    keys = raw((keys or ''):gsub('<[sS][iI][dD]>', ('<SNR>%d_'):format(before.sid or 0)))
  end
  if before.noremap == 1 and keys == raw(lhs) then -- such as Neovim's own of <Tab>, for snippets
    return feed(plain(lhs), 'in')
  end
  -- As Vim has it, a mapping that begins with its own key does not begin again (:help recursive_mapping).
  if before.noremap == 0 and vim.startswith(keys, raw(lhs)) then
    feed(keys:sub(#raw(lhs) + 1), 'im')
    return feed(raw(lhs), 'in')
  end
  feed(keys, before.noremap == 1 and 'in' or 'im')
end

--- The mapping of a key for all buffers, as maparg() has it; empty if there is none.
---@param is_it fun(mapping: table): boolean
---@return table
local function find(is_it)
  for _, mapping in ipairs(vim.api.nvim_get_keymap('i')) do
    if is_it(mapping) then
      return mapping
    end
  end
  return {}
end

--- Give back the keys that are still ours.
local function unmap()
  for _, mapping in ipairs(ours) do
    local now = find(function(one)
      return one.callback == mapping.callback
    end)
    if not vim.tbl_isempty(now) then
      vim.keymap.del('i', mapping.lhs)
      if not vim.tbl_isempty(mapping.before) then
        vim.fn.mapset('i', false, mapping.before)
      end
    end
  end
  ours = {}
end

--- Map a key, if nobody has. `action` returns whether there was something to do.
---@param name string
---@param lhs string|false
---@param action fun(): boolean
---@param hands_on boolean Whether the key goes on to what it was mapped to.
local function map(name, lhs, action, hands_on)
  if not lhs then
    return
  end
  local before = vim.fn.maparg(lhs, 'i', false, true)
  if before.buffer == 1 then -- not ours to take, and it hides a global one
    before = {}
  end
  if not hands_on and not vim.tbl_isempty(before) then
    taken[name] = lhs
    return
  end
  local function callback()
    if not action() then
      M.fall_through(lhs, before)
    end
  end
  vim.keymap.set('i', lhs, callback, { desc = 'completiond: ' .. name, silent = true })
  ours[#ours + 1] = { lhs = lhs, callback = callback, before = before }
end

--- Names of actions whose key was somebody else's, with the key.
---@return table<string, string>
function M.taken()
  return taken
end

---@param keys completiond.Keys|false
---@param actions table<string, fun(): boolean>
function M.set(keys, actions)
  taken = {}
  unmap()
  for name, lhs in pairs(keys or {}) do
    map(name, lhs, actions[name], name == 'accept')
  end
end

return M
