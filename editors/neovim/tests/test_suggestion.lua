local suggestion = require('completiond.suggestion')

---@param actual any
---@param wanted any
local function equal(actual, wanted)
  if not vim.deep_equal(actual, wanted) then
    error(('got %s, wanted %s'):format(vim.inspect(actual), vim.inspect(wanted)), 2)
  end
end

local function new(left, right, text)
  return suggestion.new({ left = left, right = right }, text, true)
end

local T = {}

T['what is typed along consumes it'] = function()
  local one = new('x = f', '', 'oo(1)\nbar()')
  equal(one:rest({ 'x = f' }, 5), 'oo(1)\nbar()')
  equal(one:rest({ 'x = foo(' }, 8), '1)\nbar()')
  equal(one:rest({ 'x = foo(1)', 'ba' }, 2), 'r()')
  equal(one:rest({ 'x = foo(1)', 'bar()' }, 5), '')
end

T['what is typed otherwise ends it'] = function()
  local one = new('x = f', '', 'oo')
  equal(one:rest({ 'x = fa' }, 6), nil)
  equal(one:rest({ 'x = fooo' }, 8), nil)
end

T['text deleted before its place ends it'] = function()
  local one = new('a.ba', '', 'r()')
  equal(one:rest({ 'a.' }, 2), nil)
  equal(one:rest({ 'b.ba' }, 4), nil)
end

T['backspace within what was typed along gives it back'] = function()
  local one = new('', '', 'word')
  equal(one:rest({ 'wo' }, 2), 'rd')
  equal(one:rest({ 'w' }, 1), 'ord')
  equal(one:rest({ '' }, 0), 'word')
end

T['text on the right that has changed ends it'] = function()
  local one = new('f(', ')', 'a, b')
  equal(one:rest({ 'f(a)' }, 3), ', b')
  equal(one:rest({ 'f(a) + 1' }, 3), nil)
  equal(one:rest({ 'f(a' }, 3), nil)
end

T['closers that a plugin inserts are taken off its end'] = function()
  local one = new('print', '', '("a")')
  equal(one:rest({ 'print()' }, 6), '"a"')
  equal(one:rest({ 'print("")' }, 7), 'a')
  equal(new('f', '', '(a).b()'):rest({ 'f()' }, 2), 'a).b(')
end

T['what is behind such closers comes when they are typed'] = function()
  local one = new('f', '', '(g(a), ")") + b')
  local text, is_all = one:rest({ 'f()' }, 2)
  equal({ text, is_all }, { 'g(a), ")"', false })
  text, is_all = one:rest({ 'f(g(a), ")")' }, 11)
  equal({ text, is_all }, { '', false })
  text, is_all = one:rest({ 'f(g(a), ")")' }, 12)
  equal({ text, is_all }, { ' + b', true })
  equal(new('f', '', '(x):\n  return x'):rest({ 'f()' }, 2), 'x')
end

T['closers of something else end it'] = function()
  equal(new('f', '', '(a]'):rest({ 'f()' }, 2), nil)
  equal(new('f', '', '(a'):rest({ 'f()' }, 2), nil)
  equal(new('f', '', '(\n  a\n)'):rest({ 'f()' }, 2), nil)
end

T['quotes, apostrophes and angle brackets'] = function()
  equal(suggestion.before_closers("don't) + b", ')', true), "don't")
  equal(suggestion.before_closers('a\\" b" + c', '"', true), 'a\\" b')
  equal(suggestion.before_closers('a > b) + c', ')', true), 'a > b')
  equal(suggestion.before_closers('T<U>> x', '>', true), 'T<U>')
end

T['one that is still written goes in front of closers'] = function()
  local one = suggestion.new({ left = 'f', right = '' }, '(a', false)
  local text, is_all = one:rest({ 'f()' }, 2)
  equal({ text, is_all }, { 'a', false })
  one:grow('(a).b', false)
  equal(one:rest({ 'f()' }, 2), 'a')
  one:grow('(a).b()', true)
  equal(one:rest({ 'f()' }, 2), 'a).b(')
end

T['it only grows'] = function()
  local one = suggestion.new({ left = '', right = '' }, 'ab', false)
  one:grow('abc', false)
  equal(one.text, 'abc')
  one:grow('xyz', true)
  equal(one.text, 'abc')
  equal(one.is_whole, true)
end

T['bytes and not characters are counted'] = function()
  local one = new('é😀 = ', ' # 日本', 'ñandú')
  equal(one:rest({ 'é😀 = ñ # 日本' }, #'é😀 = ñ'), 'andú')
end

T['line ends are those of the editor'] = function()
  equal(suggestion.normalise('a\r\nb\r'), 'a\nb')
end

T['words have their blanks before them'] = function()
  equal(suggestion.word('first + second'), 'first')
  equal(suggestion.word(' + second'), ' +')
  equal(suggestion.word('(a, b)'), '(')
  equal(suggestion.word('\n    return x'), '\n    return')
  equal(suggestion.word('日本 = 1'), '日本')
  equal(suggestion.word('  '), '  ')
end

T['lines end before their line end'] = function()
  equal(suggestion.line('a b\nc'), 'a b')
  equal(suggestion.line('\n  c d\ne'), '\n  c d')
  equal(suggestion.line('a'), 'a')
end

return T
