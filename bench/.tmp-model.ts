import { ScriptedModelServer } from '../test/support/scripted-model-server.js';
const s = await ScriptedModelServer.start({port: 18080, script: ({number}) => number % 300 !== 0 ? {calls:[{name:'read',arguments:{file_path:'a.txt'}}]} : {text:'done'}});
console.log('up');
