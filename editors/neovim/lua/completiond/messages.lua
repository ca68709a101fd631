--- What has to be told is told once: nothing may pop up at each key.
local M = {}

---@type table<string, true>
local told = {}

---@param text string
---@param level? integer One of vim.log.levels; a warning by default.
function M.once(text, level)
  if told[text] then
    return
  end
  told[text] = true
  vim.schedule(function()
    vim.notify(
      vim.startswith(text, 'completiond') and text or ('completiond: ' .. text),
      level or vim.log.levels.WARN
    )
  end)
end

return M
