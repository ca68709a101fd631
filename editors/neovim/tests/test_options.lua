local options = require('completiond.options')
local state = require('completiond.state')

---@param actual any
---@param wanted any
local function equal(actual, wanted)
  if not vim.deep_equal(actual, wanted) then
    error(('got %s, wanted %s'):format(vim.inspect(actual), vim.inspect(wanted)), 2)
  end
end

--- What is told to the user while `act` runs.
---@param act fun()
---@return string[]
local function told(act)
  local texts, notify = {}, vim.notify
  vim.notify = function(text) ---@diagnostic disable-line: duplicate-set-field
    texts[#texts + 1] = text
  end
  act()
  vim.wait(50, function()
    return false
  end, 5)
  vim.notify = notify
  return texts
end

local T = {}

T['defaults'] = function()
  options.set()
  equal(options.current.cmd, { 'completiond', 'lsp' })
  equal(options.current.streaming, true)
  equal(options.current.keys.accept, '<Tab>')
end

T['keys are set one by one, or not at all'] = function()
  options.set({ keys = { accept = '<C-y>', next = false } })
  equal(options.current.keys.accept, '<C-y>')
  equal(options.current.keys.next, false)
  equal(options.current.keys.dismiss, '<M-x>')
  options.set({ keys = false })
  equal(options.current.keys, false)
end

T['a mistake is told once and costs nothing else'] = function()
  local wrong =
    { cmd = {}, steaming = true, keys = { acept = '<Tab>' }, filetypes_off = { 'text' } }
  local texts = told(function()
    options.set(wrong)
    options.set(wrong)
  end)
  equal(#texts, 3)
  equal(options.current.cmd, { 'completiond', 'lsp' })
  equal(options.current.filetypes_off, { 'text' })
end

T['each kind of mistake'] = function()
  for _, wrong in ipairs({
    'keys',
    { keys = { accept = '' } },
    { keys = { next = '<Nope>' } },
    { keys = { dismiss = {} } },
    { keys = { '<Tab>' } },
    { filetypes_off = 'python' },
    { root_markers = { '.git', 3 } },
    { cmd = { 'completiond', false } },
    { settings = true },
    { streaming = 'yes' },
    { [{}] = 1 },
  }) do
    local texts = told(function()
      options.set(wrong)
      options.set(wrong)
    end)
    equal(#texts, 1)
    equal(options.current.keys, options.defaults.keys)
    equal(options.current.cmd, options.defaults.cmd)
    equal(options.current.root_markers, options.defaults.root_markers)
  end
  options.set({ keys = { accept = '<Leader><C-Tab>', next = '<lt>x' }, settings = {} })
  equal(options.current.keys.accept, '<Leader><C-Tab>')
  equal(vim.json.encode(options.current.settings), '{}')
end

T['what is told fits on a line'] = function()
  local messages = require('completiond.messages')
  local long = ('日本 '):rep(40)
  assert(vim.fn.strdisplaywidth(messages.fit(long)) <= vim.v.echospace)
  assert(vim.endswith(messages.fit(long), ':checkhealth completiond'))
  equal(messages.fit('one\n  two'), 'one two')
end

T['the statusline'] = function()
  state.set('off')
  equal(state.text(), 'completiond off')
  state.set('loading', { percent = 42 })
  equal(state.text(), 'completiond loading 42%')
  state.set('ready')
  state.set_busy(true)
  equal(state.text(), 'completiond busy')
  state.set_busy(false)
  equal(state.text(), 'completiond ready')
  state.set('error', { reason = 'no model' })
  equal(state.text(), 'completiond error: no model')
  state.switch(false)
  equal(state.text(), 'completiond off')
  state.switch(true)
  vim.b.completiond = false
  equal(state.text(), 'completiond off')
end

T['an autocommand tells of changes, once for several'] = function()
  vim.b.completiond = nil
  local num_told = 0
  vim.api.nvim_create_autocmd('User', {
    pattern = 'CompletiondStatus',
    callback = function()
      num_told = num_told + 1
    end,
  })
  state.set('starting')
  state.set('ready')
  state.set('ready')
  assert(vim.wait(1000, function()
    return num_told > 0
  end))
  equal(num_told, 1)
end

return T
