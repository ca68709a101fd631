--- How completiond is, for the statusline. Nothing runs here by itself: whoever learns something says it.
---
---@alias completiond.Phase 'off'|'starting'|'loading'|'ready'|'error'

local M = {}

---@type { phase: completiond.Phase, percent: integer?, reason: string?, busy: boolean }
local now = { phase = 'off', busy = false }

--- Whether there are suggestions at all (see `toggle()`).
M.is_on = true

local scheduled = false

local function tell()
  if scheduled then
    return
  end
  scheduled = true
  vim.schedule(function()
    scheduled = false
    vim.api.nvim_exec_autocmds('User', { pattern = 'CompletiondStatus', modeline = false })
  end)
end

---@param phase completiond.Phase
---@param detail? { percent: integer?, reason: string? }
function M.set(phase, detail)
  detail = detail or {}
  if now.phase ~= phase or now.percent ~= detail.percent or now.reason ~= detail.reason then
    now.phase, now.percent, now.reason = phase, detail.percent, detail.reason
    tell()
  end
end

---@param busy boolean Whether an answer is waited for.
function M.set_busy(busy)
  if now.busy ~= busy then
    now.busy = busy
    tell()
  end
end

---@param is_on boolean
function M.switch(is_on)
  if M.is_on ~= is_on then
    M.is_on = is_on
    tell()
  end
end

--- Whether the user wants suggestions in this buffer.
---@param buf integer
---@return boolean
function M.is_on_in(buf)
  return M.is_on and vim.b[buf].completiond ~= false
end

---@param buf integer
---@param is_on boolean
function M.switch_in(buf, is_on)
  vim.b[buf].completiond = is_on
  tell()
end

---@return { phase: completiond.Phase|'busy', percent: integer?, reason: string? }
function M.get()
  if not M.is_on_in(vim.api.nvim_get_current_buf()) then
    return { phase = 'off' }
  end
  local phase = now.busy and now.phase == 'ready' and 'busy' or now.phase
  return { phase = phase, percent = now.percent, reason = now.reason }
end

---@return string
function M.text()
  local state = M.get()
  if state.phase == 'loading' then
    return ('completiond loading %d%%'):format(state.percent or 0)
  end
  if state.phase == 'error' then
    return 'completiond error: ' .. (state.reason or 'see :checkhealth completiond')
  end
  return 'completiond ' .. state.phase
end

return M
