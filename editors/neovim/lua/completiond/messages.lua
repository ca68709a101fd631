--- What has to be told is told once: nothing may pop up at each key, nor ask for a key to go on.
local M = {}

local MORE = '… :checkhealth completiond' -- '…' alone on narrow screens
local NARROW = 60

---@type table<string, true>
local told = {}
local all = {} ---@type string[]

--- A text on one line that has room for it, or its beginning and where the whole is.
---@param text string
---@return string
function M.fit(text)
  text = text:gsub('%s*\n%s*', ' ')
  -- With more of it Neovim would wait for a key (:help hit-enter).
  local room = vim.v.echospace
  if vim.fn.strdisplaywidth(text) <= room then
    return text
  end
  local more = room < NARROW and '…' or MORE
  local width = room - vim.fn.strdisplaywidth(more)
  local begin = text
  while begin ~= '' and vim.fn.strdisplaywidth(begin) > width do
    begin = vim.fn.strcharpart(begin, 0, vim.fn.strcharlen(begin) - 1)
  end
  return begin .. more
end

---@param text string
---@param level integer
local function tell(text, level)
  if vim.o.cmdheight == 0 and vim.startswith(vim.api.nvim_get_mode().mode, 'i') then
    -- There is no room at all, and a key is waited for after each message.
    vim.api.nvim_create_autocmd('InsertLeave', {
      once = true,
      callback = function()
        tell(text, level)
      end,
    })
    return
  end
  vim.notify(M.fit(text), level)
end

---@param text string
---@param level? integer One of vim.log.levels; a warning by default.
function M.once(text, level)
  if told[text] then
    return
  end
  told[text] = true
  all[#all + 1] = text
  vim.schedule(function()
    text = vim.startswith(text, 'completiond') and text or ('completiond: ' .. text)
    tell(text, level or vim.log.levels.WARN)
  end)
end

--- All that was told, in full.
---@return string[]
function M.all()
  return all
end

return M
