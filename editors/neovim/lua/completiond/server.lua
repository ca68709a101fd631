--- The language server: started for buffers that want it, asked, and listened to.
local messages = require('completiond.messages')
local options = require('completiond.options')
local state = require('completiond.state')
local unnamed = require('completiond.unnamed')

local M = {}

local NAME = 'completiond'
local REQUEST_CANCELLED = -32800 -- LSP 3.17 "ErrorCodes"
local LOG_ERROR = 1 -- LSP 3.17 "MessageType"
local MAX_CRASHES = 3

--- Who wants to know, set by the engines.
---@type { partial: fun(params: table), ready: fun(), started: fun(client: vim.lsp.Client) }
M.listeners = { partial = function() end, ready = function() end, started = function() end }

local num_crashes = 0
local stopped = {} ---@type table<integer, true> Clients that end because they were asked to.
---@type table<integer, integer> Buffers without a name, and the client that is being started for them.
local waiting = {}
local is_leaving = false

--- Neovim 0.10 has a client's functions as fields, later ones as methods.
---@param client vim.lsp.Client
---@param name string
---@param ... any
local function call(client, name, ...)
  if vim.fn.has('nvim-0.11') == 1 then
    return client[name](client, ...)
  end
  return client[name](...)
end

--- Our clients, without those that are about to end.
---@param buf? integer Only those that follow this buffer.
---@return vim.lsp.Client[]
function M.clients(buf)
  return vim.tbl_filter(function(client)
    return not stopped[client.id]
  end, vim.lsp.get_clients({ bufnr = buf, name = NAME }))
end

---@param buf integer
---@return vim.lsp.Client?
function M.client(buf)
  local client = unnamed.client(buf)
  return M.clients(buf)[1] or (client and not stopped[client.id] and client or nil)
end

--- How the server knows a buffer.
---@param buf integer
---@return string uri
---@return integer? version
function M.document(buf)
  local version = unnamed.version(buf)
  if version then
    return unnamed.uri(buf), version
  end
  return vim.uri_from_bufnr(buf), vim.lsp.util.buf_versions[buf]
end

--- Ask the server. The answer comes after this has returned; a cancelled request gets none.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param on_answer fun(result: any, err: lsp.ResponseError?)
---@param buf? integer
---@return integer? id
function M.request(client, method, params, on_answer, buf)
  if buf then
    unnamed.update(buf)
  end
  local is_sent, id = call(client, 'request', method, params, function(err, result)
    if not err or err.code ~= REQUEST_CANCELLED then
      on_answer(result, err)
    end
  end, buf)
  return is_sent and id or nil
end

---@param client vim.lsp.Client
---@param id integer
function M.cancel(client, id)
  call(client, 'cancel_request', id)
end

--- Find out how the daemon is; what it says while it loads comes by itself.
---@param client vim.lsp.Client
function M.ask_how_it_is(client)
  M.request(client, 'completiond/status', vim.empty_dict(), function(status, err)
    if err then
      state.set('error', { reason = err.message })
    elseif status.phase == 'failed' then
      state.set('error', { reason = status.detail })
    elseif status.phase == 'loading' then
      state.set('loading', { percent = math.floor(100 * status.progress) })
    else
      state.set('ready')
      M.listeners.ready()
    end
  end)
end

local handlers = {}

handlers['$/progress'] = function(err, params, context, config)
  local value, client = params.value, vim.lsp.get_client_by_id(context.client_id)
  if value.kind == 'end' then
    if client then
      M.ask_how_it_is(client)
    end
  elseif value.percentage then
    state.set('loading', { percent = value.percentage })
  end
  return vim.lsp.handlers['$/progress'](err, params, context, config)
end

handlers['window/logMessage'] = function(err, params, context, config)
  if params.type == LOG_ERROR then
    local reason = params.message:gsub('^completiond: ', '')
    state.set('error', { reason = reason })
    messages.once(reason, vim.log.levels.ERROR)
  end
  return vim.lsp.handlers['window/logMessage'](err, params, context, config)
end

handlers['window/showMessage'] = function(_, params)
  local text = params.message:gsub('initializationOptions of the editor', 'settings', 1) -- as in setup()
  messages.once(text, params.type == LOG_ERROR and vim.log.levels.ERROR or nil)
end

handlers['completiond/partialInlineCompletion'] = function(_, params)
  M.listeners.partial(params)
end

---@param code integer
---@param signal integer 0 if none ended it.
---@param client_id integer
local function on_exit(code, signal, client_id)
  if is_leaving or stopped[client_id] then
    return
  end
  num_crashes = num_crashes + 1
  local how = signal > 0 and ('by signal %d'):format(signal) or ('with status %d'):format(code)
  local reason = ('server ended %s'):format(how)
  state.set('error', { reason = reason })
  if num_crashes >= MAX_CRASHES then
    messages.once(reason .. '; try :Completiond restart', vim.log.levels.ERROR)
  end
end

---@param client vim.lsp.Client
local function on_init(client)
  if options.current.streaming then
    -- Else Neovim would show the same text a second time, if its own inline completion is on for another server.
    client.server_capabilities.inlineCompletionProvider = nil
  end
  for buf, client_id in pairs(waiting) do
    if client_id == client.id and vim.api.nvim_buf_is_loaded(buf) and unnamed.is_one(buf) then
      unnamed.open(client, buf)
      waiting[buf] = nil
    end
  end
  M.ask_how_it_is(client)
  M.listeners.started(client)
end

---@return vim.lsp.ClientConfig
local function client_config(buf)
  local how = { code = 0, signal = 0 } -- it ended
  local current = options.current
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  if current.streaming then
    capabilities.experimental = { completiond = { partialInlineCompletion = true } }
  end
  return {
    name = NAME,
    -- Neovim is not told how it ended: its message about that waits for a key, in the middle of typing. Ours does not.
    cmd = function(dispatchers)
      local on_end = dispatchers.on_exit
      dispatchers.on_exit = function(code, signal)
        how = { code = code, signal = signal }
        on_end(0, 0)
      end
      return vim.lsp.rpc.start(current.cmd, dispatchers)
    end,
    root_dir = vim.fs.root(buf, current.root_markers),
    capabilities = capabilities,
    init_options = current.settings, -- and not as `settings`, too: a mistake would be told twice
    handlers = handlers,
    on_init = on_init,
    on_exit = vim.schedule_wrap(function(_, _, client_id)
      on_exit(how.code, how.signal, client_id)
    end),
  }
end

--- Whether there can be suggestions in a buffer: a text of the user's, of a type that is not turned off.
---@param buf integer
---@return boolean
local function is_wanted(buf)
  return vim.api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ''
    and vim.bo[buf].modifiable
    and (
      vim.api.nvim_buf_get_name(buf) ~= ''
      -- Neovim's own ghost text needs its own way to follow a buffer.
      or (options.current.streaming and unnamed.is_one(buf))
    )
    and not vim.tbl_contains(options.current.filetypes_off, vim.bo[buf].filetype)
end

--- Have the server follow a buffer; the first time that starts it. Does nothing if it does already.
---@param buf integer
function M.attach(buf)
  if
    num_crashes >= MAX_CRASHES
    or not state.is_on_in(buf)
    or not is_wanted(buf)
    or M.client(buf)
  then
    return
  end
  local program = options.current.cmd[1]
  if vim.fn.executable(program) == 0 then
    local reason = ('no program "%s"; install completiond, or set cmd in setup()'):format(program)
    state.set('error', { reason = reason })
    messages.once(reason, vim.log.levels.ERROR)
    return
  end
  if #M.clients() == 0 then
    state.set('starting')
  end
  local is_unnamed = unnamed.is_one(buf)
  local client_id = vim.lsp.start(client_config(buf), {
    bufnr = buf,
    attach = not is_unnamed,
    reuse_client = function(client, config)
      return client.name == NAME and client.root_dir == config.root_dir and not stopped[client.id]
    end,
  })
  local client = client_id and is_unnamed and vim.lsp.get_client_by_id(client_id)
  if client and client.initialized then
    unnamed.open(client, buf)
  elseif client then
    waiting[buf] = client.id
  end
end

--- A buffer is about to have another name: the server is told to close it by the one that it knows.
---@param buf integer
function M.detach(buf)
  M.forget(buf)
  for _, client in ipairs(M.clients(buf)) do
    vim.lsp.buf_detach_client(buf, client.id)
  end
end

--- A buffer goes, or one without a name is about to have one.
---@param buf integer
function M.forget(buf)
  waiting[buf] = nil
  unnamed.close(buf)
end

--- End the language servers; the daemon goes on for other editors.
function M.stop()
  for _, client in ipairs(M.clients()) do
    stopped[client.id] = true
    call(client, 'stop')
  end
  state.set('off')
end

--- Start anew: the language servers, and the daemon that all editors share.
function M.restart()
  num_crashes = 0
  local client = M.clients()[1]
  local function again()
    M.stop()
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      vim.schedule(function()
        M.attach(buf)
      end)
    end
  end
  if client then
    M.request(client, 'completiond/stop', vim.empty_dict(), again)
  else
    again()
  end
end

--- Neovim is about to end: what the server does from now on is nobody's problem.
function M.leave()
  is_leaving = true
end

return M
