local report = require('completiond.report')
local command = require('completiond.command')

local T = {}

T['only what showed nothing is told of, in words'] = function()
  local lines = report.silent({
    {
      characters = 0,
      ago_s = 2.4,
      document = 'a.py',
      line = 3,
      column = 8,
      reason = 'off: x',
      meaning = 'Off by x.',
    },
    {
      characters = 9,
      ago_s = 3,
      document = 'a.py',
      line = 3,
      column = 8,
      reason = 'line',
      meaning = 'A line.',
    },
    {
      characters = 0,
      ago_s = 4,
      document = 'a.py',
      line = 3,
      column = 8,
      reason = 'superseded',
      meaning = 'Newer.',
    },
    {
      characters = 0,
      ago_s = 5,
      document = 'b.py',
      line = 1,
      column = 0,
      reason = 'new code',
      meaning = '',
    },
    {
      characters = 0,
      ago_s = 6,
      document = 'b.py',
      line = 1,
      column = 0,
      reason = 'off: x',
      meaning = 'Off by x.',
    },
  }, 60)
  assert(
    vim.deep_equal(lines, { '2 s ago  a.py:3:8  Off by x.  (2 times)', '5 s ago  b.py:1:0  new code' }),
    vim.inspect(lines)
  )
end

T['one reason fits on a line if it can'] = function()
  local one = {
    characters = 0,
    ago_s = 2,
    document = 'a.py',
    line = 3,
    column = 8,
    reason = 'x',
    meaning = 'Off by x.',
  }
  assert(vim.deep_equal(report.silent({ one }, 30), { '2 s ago  a.py:3:8  Off by x.' }))
  assert(vim.deep_equal(report.silent({ one }, 10), { 'Off by x.' }))
  assert(vim.deep_equal(report.silent({ one }, 5), { '2 s ago  a.py:3:8  Off by x.' }))
end

T['the command completes its words'] = function()
  local all = { 'off', 'restart', 'status', 'toggle', 'why' }
  assert(vim.deep_equal(command.complete('', 'Completiond '), all))
  assert(vim.deep_equal(command.complete('t', 'Completiond t'), { 'toggle' }))
  assert(vim.deep_equal(command.complete('', 'Completiond toggle '), { 'buffer' }))
  assert(vim.deep_equal(command.complete('', 'Completiond why '), {}))
end

return T
