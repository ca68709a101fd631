--- `:checkhealth completiond`
local keys = require('completiond.keys')
local messages = require('completiond.messages')
local options = require('completiond.options')
local server = require('completiond.server')
local state = require('completiond.state')

local health = vim.health
local M = {}

local PROGRAM_TIMEOUT_MS = 30000

--- Other plugins that show ghost text, by the module or the variable that says they are loaded.
local OTHERS = {
  ['copilot.vim'] = { variable = 'loaded_copilot' },
  ['copilot.lua'] = { module = 'copilot' },
  ['codeium.vim, windsurf.vim'] = { variable = 'loaded_codeium' },
  ['llama.vim'] = { variable = 'loaded_llama' },
  ['minuet-ai.nvim'] = { module = 'minuet' },
  ['supermaven-nvim'] = { module = 'supermaven-nvim' },
  ['tabnine-nvim'] = { module = 'tabnine' },
}

local function check_neovim()
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.10') == 0 then
    health.error(('Neovim %s is too old'):format(version), 'Use Neovim 0.10 or newer.')
    return
  end
  health.ok(('Neovim %s'):format(version))
  health.info(
    options.current.streaming and 'Ghost text is our own and grows' or "Ghost text is Neovim's own"
  )
end

--- Run the program with other arguments than `lsp`.
---@param ... string
---@return vim.SystemCompleted?
local function run(...)
  local command = vim.deepcopy(options.current.cmd)
  if command[#command] ~= 'lsp' then
    return nil
  end
  command[#command] = nil
  local is_started, process = pcall(vim.system, vim.list_extend(command, { ... }), { text = true })
  return is_started and process:wait(PROGRAM_TIMEOUT_MS) or nil
end

---@return boolean
local function check_program()
  local program = options.current.cmd[1]
  local path = vim.fn.exepath(program)
  if path == '' then
    health.error(('The program %q was not found'):format(program), {
      'Install completiond and have its folder in PATH, or set cmd in setup():',
      "cmd = { '/path/to/completiond', 'lsp' }",
    })
    return false
  end
  local result = run('--version')
  if not result then
    health.warn(('%s: cmd does not end with "lsp", so that nothing more is checked'):format(path))
    return false
  end
  if result.code ~= 0 then
    health.error(
      ('%s ended with status %d'):format(path, result.code),
      vim.trim(result.stderr or '')
    )
    return false
  end
  health.ok(('%s: %s'):format(path, vim.trim(result.stdout)))
  return true
end

local function check_daemon()
  local result = run('status', '--json')
  local is_json, status = pcall(vim.json.decode, result and result.stdout or '')
  if not is_json then
    health.error('`completiond status --json` cannot be read', 'Run `completiond doctor`.')
  elseif status.phase == 'not running' then
    health.warn('No daemon runs', 'It starts with the first file that is opened in an editor.')
  elseif status.phase == 'failed' then
    health.error('The model could not be loaded: ' .. status.detail, 'Run `completiond doctor`.')
  else
    health.ok(
      ('The daemon is %s, process %d, version %s'):format(status.phase, status.pid, status.version)
    )
    health.ok(('Model %s %s'):format(status.model, status.device))
  end
  local now = state.get()
  if now.phase == 'error' then
    health.error(now.reason or 'unknown', '`completiond doctor` looks for the cause.')
  elseif #server.clients() == 0 then
    health.info('No buffer is attached')
  end
end

local function check_keys()
  for action, lhs in pairs(keys.taken()) do
    health.warn(('%s was mapped already, so that %s has no key'):format(lhs, action), {
      ("Choose another one: keys = { %s = '...' } in setup(), or false."):format(action),
    })
  end
  local accept = options.current.keys and options.current.keys.accept
  if accept then
    local mapping = vim.fn.maparg(accept, 'i', false, true)
    if vim.fn.executable(options.current.cmd[1]) == 0 then
      health.info(('Without the program there is no ghost text for %s to accept'):format(accept))
    elseif vim.startswith(mapping.desc or '', 'completiond') then
      health.ok(('%s accepts ghost text'):format(accept))
    else
      health.warn(
        ('%s belongs to another mapping: %s'):format(accept, mapping.desc or mapping.rhs or 'Lua'),
        {
          "Call require('completiond').accept() in it; it returns false where there is no ghost text.",
          'Or call setup() after that plugin: its mapping is then used where there is no ghost text.',
        }
      )
    end
  end
  for name, sign in pairs(OTHERS) do
    if
      (sign.module and package.loaded[sign.module]) or (sign.variable and vim.g[sign.variable])
    then
      health.warn(
        name .. ' is loaded, too',
        'Two ghost texts at one cursor hide each other: turn one off.'
      )
    end
  end
end

function M.check()
  health.start('completiond')
  check_neovim()
  if check_program() then
    check_daemon()
  end
  for _, text in ipairs(messages.all()) do
    health.warn('Was told: ' .. text)
  end
  check_keys()
end

return M
