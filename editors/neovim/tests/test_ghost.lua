local ghost = require('completiond.ghost')

---@param actual any
---@param wanted any
local function equal(actual, wanted)
  if not vim.deep_equal(actual, wanted) then
    error(('got %s, wanted %s'):format(vim.inspect(actual), vim.inspect(wanted)), 2)
  end
end

---@param ... string
---@return integer buf
local function buffer(...)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, { ... })
  return buf
end

local T = {}

T['the first line is drawn at the cursor and the others below'] = function()
  local buf = buffer('x = ')
  ghost.show(buf, 0, 4, '1\ny = 2\nz')
  equal(ghost.text(buf), '1\ny = 2\nz')
  equal(#vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, {}), 1)
end

T['showing again takes the place of what was shown'] = function()
  local buf = buffer('x = ')
  ghost.show(buf, 0, 4, 'one\ntwo')
  ghost.show(buf, 0, 4, 'one')
  equal(ghost.text(buf), 'one')
  equal(#vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, {}), 1)
  ghost.hide(buf)
  equal(ghost.text(buf), nil)
  ghost.hide(buf)
end

T['a buffer that is gone has nothing to hide'] = function()
  local buf = buffer('x')
  vim.api.nvim_buf_delete(buf, { force = true })
  ghost.hide(buf)
end

T['tabs are the blanks they take'] = function()
  equal(ghost.expand('\tx', 0, 4), '    x')
  equal(ghost.expand('\tx', 2, 4), '  x')
  equal(ghost.expand('a\tb\t', 0, 8), 'a       b       ')
  equal(ghost.expand('日\tx', 0, 4), '日  x')
  equal(ghost.expand('', 3, 8), '')
end

T['a tab at the cursor goes on from the column of the text'] = function()
  local buf = buffer('ab')
  vim.bo[buf].tabstop = 4
  ghost.show(buf, 0, 2, '\tc\n\td')
  equal(ghost.text(buf), '  c\n    d')
end

return T
