--- Neovim 0.12's own inline completion (`streaming = false`), set up to work with our keys.
local suggestion = require('completiond.suggestion')

local M = {}

---@return boolean
function M.is_there()
  return vim.lsp.inline_completion ~= nil
end

---@param client vim.lsp.Client
function M.on_started(client)
  vim.lsp.inline_completion.enable(true, { client_id = client.id })
end

--- Accept a part of the item. What was typed since it was asked for is counted into it: Neovim 0.12.4 leaves it.
---@param part fun(text: string): string
---@return boolean
function M.accept(part)
  return vim.lsp.inline_completion.get({
    on_accept = function(item)
      local text = type(item.insert_text) == 'string' and suggestion.normalise(item.insert_text)
      if not text or not item.range then
        return item
      end
      local row, column = item.range:to_extmark()
      local at = vim.api.nvim_win_get_cursor(0)
      local is_behind = at[1] - 1 > row or (at[1] - 1 == row and at[2] >= column)
      local typed = is_behind and vim.api.nvim_buf_get_text(0, row, column, at[1] - 1, at[2], {})
        or { '\0' }
      local before = table.concat(typed, '\n')
      if vim.startswith(text, before) then -- else it is for another place
        local lines = vim.split(part(text:sub(#before + 1)), '\n', { plain = true })
        vim.api.nvim_buf_set_text(0, at[1] - 1, at[2], at[1] - 1, at[2], lines)
        local last = #lines[#lines] + (#lines == 1 and at[2] or 0)
        vim.api.nvim_win_set_cursor(0, { at[1] - 1 + #lines, last })
      end
    end,
  })
end

---@param step 1|-1
function M.cycle(step)
  vim.lsp.inline_completion.select({ count = step })
end

--- Drop the item, by accepting nothing of it.
function M.dismiss()
  vim.lsp.inline_completion.get({
    on_accept = function()
      return nil
    end,
  })
end

return M
