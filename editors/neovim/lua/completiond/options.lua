---@class completiond.Keys
---@field accept? string|false All of the ghost text.
---@field accept_word? string|false Its next word.
---@field accept_line? string|false Up to the end of its line.
---@field next? string|false The next alternative; asks for alternatives first.
---@field previous? string|false The one before.
---@field dismiss? string|false

---@class completiond.Options
---@field cmd? string[] The language server.
---@field streaming? boolean Our own ghost text, which grows while it is written; false: Neovim's.
---@field settings? table What an editor may set of completiond's settings, by sections.
---@field filetypes_off? string[] File types without suggestions.
---@field root_markers? string[] What the folder of a project holds.
---@field keys? completiond.Keys|false False: no keys at all.

local messages = require('completiond.messages')

local M = {}

---@type completiond.Options
M.defaults = {
  cmd = { 'completiond', 'lsp' },
  streaming = true,
  settings = vim.empty_dict(),
  filetypes_off = { 'gitcommit', 'gitrebase', 'help' },
  root_markers = { '.git', '.completiond.toml' },
  keys = {
    accept = '<Tab>',
    accept_word = '<M-w>',
    accept_line = '<M-l>',
    next = '<M-n>',
    previous = '<M-p>',
    dismiss = '<M-x>',
  },
}

---@type completiond.Options
M.current = M.defaults

---@param value any
---@param default any
---@param name string
---@return boolean
local function is_right(value, default, name)
  if name == 'keys' and value == false then
    return true
  end
  if type(value) ~= type(default) then
    return false
  end
  if name == 'cmd' and #value == 0 then
    return false
  end
  return true
end

--- Take over what the user wants. A mistake is told once and costs no other option.
---@param opts? completiond.Options
function M.set(opts)
  local right = {}
  for name, value in pairs(opts or {}) do
    local default = M.defaults[name]
    if default == nil then
      messages.once(('setup() has no option %q; see :help completiond-options'):format(name))
    elseif not is_right(value, default, name) then
      local wanted = type(default)
      messages.once(('setup(): %s must be a %s, and not empty'):format(name, wanted))
    elseif name == 'keys' and value then
      right.keys = M.keys(value)
    else
      right[name] = value
    end
  end
  M.current = vim.tbl_extend('force', M.defaults, right)
end

---@param keys table
---@return completiond.Keys
function M.keys(keys)
  local right = {}
  for action, lhs in pairs(keys) do
    if M.defaults.keys[action] == nil then
      messages.once(('setup(): keys has no action %q; see :help completiond-keys'):format(action))
    elseif lhs ~= false and type(lhs) ~= 'string' then
      messages.once(('setup(): keys.%s must be a key such as "<Tab>", or false'):format(action))
    else
      right[action] = lhs
    end
  end
  return vim.tbl_extend('force', M.defaults.keys, right)
end

return M
