-- Runs one file of tests in the Neovim that runs this: `nvim --headless --clean -l run.lua FILE`. A file returns a table
-- of functions by name. Exit status 1 if one of them fails.
local folder = vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(arg[0], ':p'))))
vim.opt.runtimepath:prepend(folder)

local num_failed = 0
local tests = dofile(arg[1])
local names = vim.tbl_keys(tests)
table.sort(names)
for _, name in ipairs(names) do
  local is_right, err = xpcall(tests[name], debug.traceback)
  if not is_right then
    num_failed = num_failed + 1
    io.stderr:write(('FAILED %s\n%s\n'):format(name, err))
  end
end
io.write(('%d tests, %d failed\n'):format(#names, num_failed))
os.exit((num_failed > 0 or #names == 0) and 1 or 0)
