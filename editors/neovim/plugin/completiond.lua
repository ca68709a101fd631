if vim.g.loaded_completiond then
  return
end
vim.g.loaded_completiond = true

vim.api.nvim_create_user_command('Completiond', function(args)
  require('completiond.command').run(args.fargs)
end, {
  nargs = '+',
  desc = 'Ghost text by completiond',
  complete = function(lead, line)
    return require('completiond.command').complete(lead, line)
  end,
})
