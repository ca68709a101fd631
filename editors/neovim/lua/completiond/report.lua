--- What the daemon says about itself, for people.
local server = require('completiond.server')
local state = require('completiond.state')

local M = {}

local MAX_SHOWN = 8

---@param lines string[]
local function echo(lines)
  vim.api.nvim_echo({ { table.concat(lines, '\n') } }, true, {})
end

--- A message if it fits on the line for messages; else a small window that goes with the next movement: after a longer
--- message Neovim would wait for a key.
---@param lines string[]
local function show(lines)
  local room = vim.o.cmdheight > 0 and vim.v.echospace or 0
  if #lines == 1 and vim.fn.strdisplaywidth(lines[1]) <= room then
    return echo(lines)
  end
  local options = { focus_id = 'completiond.why', border = 'single' }
  vim.lsp.util.open_floating_preview(lines, 'text', options)
end

---@param params table
---@param on_status fun(status: table)
local function ask(params, on_status)
  local client = server.client(0) or server.clients()[1]
  if not client then
    echo({ state.text() .. ': no language server runs; :checkhealth completiond says more' })
    return
  end
  server.request(client, 'completiond/status', params, function(status, err)
    if err then
      echo({ 'completiond: ' .. err.message })
    else
      on_status(status)
    end
  end)
end

--- Requests that nobody waited for to the end: they come with typing, and say nothing.
local GIVEN_UP = { superseded = true, cancelled = true }

--- Why requests showed nothing, newest first, one line for each reason; with room for less, the reason by itself.
---@param recent table[] As `completiond/status` has them.
---@param room integer In cells, for a line that is the only one.
---@return string[]
function M.silent(recent, room)
  local found, by_meaning = {}, {}
  for _, one in ipairs(recent) do
    if one.characters == 0 and not GIVEN_UP[one.reason] then
      local meaning = one.meaning ~= '' and one.meaning or one.reason
      if by_meaning[meaning] then
        by_meaning[meaning].count = by_meaning[meaning].count + 1
      elseif #found < MAX_SHOWN then
        by_meaning[meaning] = { newest = one, meaning = meaning, count = 1 }
        found[#found + 1] = by_meaning[meaning]
      end
    end
  end
  local lines = {}
  for number, reason in ipairs(found) do
    local one = reason.newest
    local times = reason.count > 1 and ('  (%d times)'):format(reason.count) or ''
    local where = ('%s:%d:%d'):format(one.document, one.line, one.column)
    lines[number] = ('%.0f s ago  %s  %s%s'):format(one.ago_s, where, reason.meaning, times)
  end
  if #lines == 1 and vim.fn.strdisplaywidth(lines[1]) > room then
    local meaning = found[1].meaning
    return { vim.fn.strdisplaywidth(meaning) <= room and meaning or lines[1] }
  end
  return lines
end

--- Tell why there was nothing to show.
function M.why()
  ask({ why = true }, function(status)
    local lines = M.silent(status.recent, vim.v.echospace)
    show(#lines > 0 and lines or { 'completiond: none of the last requests was without an answer' })
  end)
end

--- Print how the daemon is.
function M.status()
  ask(vim.empty_dict(), function(status)
    local counters = status.counters
    local lines = {
      ('completiond %s, %s: %s on %s %s'):format(
        status.version,
        status.phase,
        status.model,
        status.device,
        status.dtype
      ),
      ('%d client%s, %d MB, process %d'):format(
        status.clients,
        status.clients == 1 and '' or 's',
        status.rss_mb,
        status.pid
      ),
      ('%d requests: %d answered, %d empty, %d superseded, %d cancelled'):format(
        counters.requests,
        counters.answered,
        counters.empty,
        counters.superseded,
        counters.cancelled
      ),
    }
    if status.detail ~= '' and status.detail ~= status.phase then
      table.insert(lines, 2, status.detail)
    end
    vim.list_extend(lines, status.problems)
    echo(lines)
  end)
end

return M
