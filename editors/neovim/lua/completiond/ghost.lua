--- Draws ghost text: the first line at the cursor, the others below.
local M = {}

local MARK = 1
local namespace = vim.api.nvim_create_namespace('completiond')

M.namespace = namespace

--- Tabs as the blanks they take: virtual text shows them as control characters.
---@param text string
---@param column integer In cells, where the text begins.
---@param width integer 'tabstop'
---@return string
function M.expand(text, column, width)
  local parts = {}
  for piece, tab in text:gmatch('([^\t]*)(\t?)') do
    parts[#parts + 1] = piece
    column = column + vim.fn.strdisplaywidth(piece, column)
    if tab ~= '' then
      local blanks = width - column % width
      parts[#parts + 1] = (' '):rep(blanks)
      column = column + blanks
    end
  end
  return table.concat(parts)
end

--- Scroll the window up just so far that the lines below the cursor's have room, and the cursor stays in it: Neovim
--- shows no virtual lines behind the window's last one. It is not scrolled back: that would be a second jump.
---@param row integer Of the cursor, from 0.
---@param num_lines integer
local function make_room(row, num_lines)
  local top = vim.fn.line('w0') - 1
  local height = vim.fn.getwininfo(vim.api.nvim_get_current_win())[1].height
  local function height_of(first, last)
    local rows = { start_row = first, end_row = last, start_vcol = 0 }
    return vim.api.nvim_win_text_height(0, rows).all
  end
  local wanted, missing = top, height_of(top, row) + num_lines - height
  while missing > 0 and wanted < row - vim.o.scrolloff do
    local last = math.max(wanted, vim.fn.foldclosedend(wanted + 1) - 1)
    missing = missing - height_of(wanted, last)
    wanted = last + 1
  end
  if wanted > top then
    vim.fn.winrestview({ topline = wanted + 1 })
  end
end

--- Take the place of what is shown in the buffer; the current window makes room for it. The mark stays the same one, so
--- that nothing flickers.
---@param buf integer
---@param row integer From 0.
---@param column integer In bytes.
---@param text string Not empty.
---@param hint? string Behind the text, such as "2/3".
function M.show(buf, row, column, text, hint)
  local lines = vim.split(text, '\n', { plain = true })
  local before = vim.api.nvim_buf_get_text(buf, row, 0, row, column, {})[1]
  local width = vim.bo[buf].tabstop
  local chunks = {} ---@type [string, string][][]
  for number, line in ipairs(lines) do
    local begin = number == 1 and vim.fn.strdisplaywidth(before) or 0
    chunks[number] = { { M.expand(line, begin, width), 'CompletiondGhost' } }
  end
  if hint then
    table.insert(chunks[1], { ' ' .. hint, 'CompletiondHint' })
  end
  vim.api.nvim_buf_set_extmark(buf, namespace, row, column, {
    id = MARK,
    virt_text = chunks[1],
    virt_text_pos = 'inline',
    virt_lines = vim.list_slice(chunks, 2),
    hl_mode = 'combine',
    right_gravity = false,
    undo_restore = false,
  })
  if #lines > 1 and vim.api.nvim_get_current_buf() == buf then
    make_room(row, #lines - 1)
  end
end

---@param buf integer
function M.hide(buf)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_del_extmark(buf, namespace, MARK)
  end
end

--- The text that is drawn in a buffer, for tests and other plugins; nil if there is none.
---@param buf integer
---@return string?
function M.text(buf)
  local mark = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, MARK, { details = true })
  local details = mark[3]
  if not details then
    return nil
  end
  local lines = { details.virt_text[1][1] }
  for _, line in ipairs(details.virt_lines or {}) do
    lines[#lines + 1] = line[1][1]
  end
  return table.concat(lines, '\n')
end

function M.define_highlights()
  vim.api.nvim_set_hl(0, 'CompletiondGhost', { default = true, link = 'NonText' })
  vim.api.nvim_set_hl(0, 'CompletiondHint', { default = true, link = 'MoreMsg' })
end

return M
