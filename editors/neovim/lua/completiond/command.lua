--- `:Completiond why|status|toggle|restart|off`
local report = require('completiond.report')
local server = require('completiond.server')

local M = {}

---@param scope? string
---@param is_on? boolean
local function toggle(scope, is_on)
  require('completiond').toggle(scope == 'buffer' and 'buffer' or nil, is_on)
  local text = require('completiond.messages').fit(require('completiond').status())
  vim.api.nvim_echo({ { text } }, false, {})
end

---@type table<string, fun(scope: string?)>
local verbs = {
  why = function()
    report.why()
  end,
  status = function()
    report.status()
  end,
  toggle = function(scope)
    toggle(scope)
  end,
  off = function(scope)
    toggle(scope, false)
  end,
  restart = function()
    server.restart()
  end,
}

---@param arguments string[]
function M.run(arguments)
  local verb = verbs[arguments[1]]
  local takes_scope = arguments[1] == 'toggle' or arguments[1] == 'off'
  if
    not verb
    or #arguments > (takes_scope and 2 or 1)
    or (arguments[2] and arguments[2] ~= 'buffer')
  then
    local usage = 'Completiond takes why, status, toggle [buffer], off [buffer] or restart'
    vim.api.nvim_echo({ { usage, 'ErrorMsg' } }, true, {})
    return
  end
  verb(arguments[2])
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local words = vim.split(vim.trim(line), '%s+')
  local is_second = #words > 2 or (#words == 2 and lead == '')
  local choices = vim.tbl_keys(verbs)
  if is_second then
    choices = (words[2] == 'toggle' or words[2] == 'off') and { 'buffer' } or {}
  end
  table.sort(choices)
  return vim.tbl_filter(function(choice)
    return vim.startswith(choice, lead)
  end, choices)
end

return M
