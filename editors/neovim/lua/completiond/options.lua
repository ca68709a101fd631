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
---@return boolean
local function is_list_of_texts(value)
  return vim.islist(value)
    and vim.iter(value):all(function(one)
      return type(one) == 'string' and one ~= ''
    end)
end

--- What an option must be, in words; nil if it is that.
---@param name string
---@param value any
---@return string?
local function wanted(name, value)
  if name == 'streaming' then
    return type(value) ~= 'boolean' and 'true or false' or nil
  elseif name == 'settings' then
    return type(value) ~= 'table' and 'a table' or nil
  elseif name == 'keys' then
    return type(value) ~= 'table' and value ~= false and 'a table or false' or nil
  elseif type(value) ~= 'table' or not is_list_of_texts(value) then
    return 'a list of texts'
  end
  return name == 'cmd' and #value == 0 and 'a list of texts, and not empty' or nil
end

--- Take over what the user wants. A mistake is told once and costs no other option.
---@param opts? completiond.Options
function M.set(opts)
  local right = {}
  if opts ~= nil and type(opts) ~= 'table' then
    messages.once('setup() takes a table; see :help completiond-options')
    opts = nil
  end
  for name, value in pairs(opts or {}) do
    if M.defaults[name] == nil then
      local text = 'setup() has no option "%s"; :help completiond-options'
      messages.once(text:format(tostring(name)))
    elseif wanted(name, value) then
      messages.once(('setup(): %s must be %s'):format(name, wanted(name, value)))
    elseif name == 'keys' and value then
      right.keys = M.keys(value)
    elseif name == 'settings' and vim.tbl_isempty(value) then
      right.settings = vim.empty_dict() -- an empty table would be sent as a list
    else
      right[name] = value
    end
  end
  M.current = vim.tbl_extend('force', M.defaults, right)
end

--- Whether Neovim knows the names of keys in a text, such as "<Tab>".
---@param lhs string
---@return boolean
local function is_key(lhs)
  local unknown = '<[%w_%-]+>' -- known names are bytes then
  return lhs ~= '' and not vim.api.nvim_replace_termcodes(lhs, true, true, true):find(unknown)
end

---@param keys table
---@return completiond.Keys
function M.keys(keys)
  local right = {}
  for action, lhs in pairs(keys) do
    if M.defaults.keys[action] == nil then
      local text = 'setup(): keys has no action "%s"; :help completiond-keys'
      messages.once(text:format(tostring(action)))
    elseif lhs ~= false and (type(lhs) ~= 'string' or not is_key(lhs)) then
      messages.once(('setup(): keys.%s must be a key such as "<Tab>", or false'):format(action))
    else
      right[action] = lhs
    end
  end
  return vim.tbl_extend('force', M.defaults.keys, right)
end

return M
